//! Assignments to protocol fields: mostly of values that fit, by the versions and headers that have the field.

use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::WRITES, 5, Generator::assign_field),
    (Features::WRITES, 2, Generator::assign_captured_field),
    (Features::WRITES, 2, Generator::assign_field_by_name),
    (Features::WRITES, 2, Generator::assign_field_below_string),
    (Features::WRITES, 2, Generator::assign_port),
    (Features::WRITES, 2, Generator::read_header_that_is_gone),
];

/// Headers, and fields of them.
const HELD: [(&str, &str); 14] = [
    ("vlan", "id"),
    ("arp", "sender"),
    ("mpls", "label"),
    ("ip", "src"),
    ("ip", "length"),
    ("tcp", "flags"),
    ("udp", "dport"),
    ("icmp", "type"),
    ("gre", "key"),
    ("dns", "qname"),
    ("dhcp", "message_type"),
    ("http", "method"),
    ("quic", "version"),
    ("vxlan", "vni"),
];

/// Writes by offset behind which headers are others, or none; N is a small number.
const TAKING_AWAY: [&str; 6] = [
    "pkt:setbyte(12, N)",
    "pkt:setuint16(12, 0x86dd)",
    "pkt:setbyte(14, N * 16 + 5)",
    "pkt:setbyte(23, N)",
    "pkt:setuint16(36, N)",
    "pkt:setuint16(16, N)",
];

/// Integer fields that can be assigned (docs/packet.md), with their bits.
const NUMBERS: [(&str, &str, u32); 23] = [
    ("eth", "type", 16),
    ("vlan", "id", 12),
    ("vlan", "priority", 3),
    ("vlan", "type", 16),
    ("arp", "op", 16),
    ("ip", "ttl", 8),
    ("ip", "tos", 8),
    ("ip", "dscp", 6),
    ("ip", "ecn", 2),
    ("ip", "id", 16),
    ("ip", "flow", 20),
    ("ip", "checksum", 16),
    ("tcp", "sport", 16),
    ("tcp", "dport", 16),
    ("tcp", "seq", 32),
    ("tcp", "ack", 32),
    ("tcp", "flags", 8),
    ("tcp", "window", 16),
    ("udp", "sport", 16),
    ("udp", "dport", 16),
    ("udp", "checksum", 16),
    ("icmp", "type", 8),
    ("icmp", "seq", 16),
];

const FLAGS: [(&str, &str); 5] =
    [("vlan", "dei"), ("ip", "dont_fragment"), ("tcp", "syn"), ("tcp", "fin"), ("tcp", "cwr")];

/// Addresses, with the field of a packet that has one of the same kind.
const ADDRESSES: [(&str, &str, &[&str]); 6] = [
    ("eth", "src", &["\"02:00:00:ff:ff:01\"", "pkt.eth.dst"]),
    ("eth", "dst", &["\"ff:ff:ff:ff:ff:ff\"", "pkt.eth.src"]),
    ("arp", "sender_mac", &["\"02:00:00:ff:ff:01\"", "pkt.eth.src"]),
    ("arp", "target", &["\"10.0.0.9\"", "pkt.arp.sender"]),
    ("ip", "src", &["\"192.0.2.77\"", "\"2001:db8::77\"", "pkt.ip.dst"]),
    ("ip", "dst", &["\"255.255.255.255\"", "\"::\"", "\"fe80::1:0:1\"", "pkt.ip.src"]),
];

/// An assignment: the header, the field, the value, and the IP version of packets that can take it.
type Assigned = (&'static str, &'static str, Expression, Option<u8>);

impl Generator {
    fn assign_field(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let (header, field, value, version) = self.assigned();
        let condition = self.has_field(header, version);
        Some(vec![line!(format!("if {condition} then pkt.{header}.{field} = $ end"), value)])
    }

    /// The header is a variable of the function around the one that assigns.
    fn assign_captured_field(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(40);
        let (header, field, value, version) = self.in_function(Self::assigned);
        let condition = self.has_field(header, version);
        let call = match self.has(Features::ERRORS) && self.random.once_in(2) {
            true => "pcall(set)",
            false => "set()",
        };
        let set = format!("local function set() header.{field} = $ end {call}");
        Some(vec![line!(format!("if {condition} then local header = pkt.{header} {set} end"), value)])
    }

    /// The header is a variable that was declared before one with bytes of the packet, which are those of before the assignment.
    fn assign_field_below_string(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(60);
        let (header, field, value, version) = self.assigned();
        let condition = self.has_field(header, version);
        let (at, byte) = (self.random.below(40), 1 + self.random.below(14));
        let held = format!("local header = pkt.{header} local held = pkt:getstring({at}, 14)");
        let shown = format!("print(held:byte({byte}), held == pkt:getstring({at}, 14))");
        let line =
            format!("if {condition} and #pkt >= {} then {held} header.{field} = $ {shown} end", at + 14);
        Some(vec![line!(line, value)])
    }

    /// A condition that packets satisfy that have the header and, mostly, the field. Where a packet has none it is an error.
    fn has_field(&mut self, header: &str, version: Option<u8>) -> String {
        match version {
            Some(version) if !(self.has(Features::ERRORS) && self.random.once_in(8)) => {
                format!("pkt.{header} and pkt.ip.version == {version}")
            }
            _ => format!("pkt.{header}"),
        }
    }

    /// Messages that are known by the ports are looked at before and afterwards.
    fn assign_port(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(60);
        let port = self.one_of(&["sport", "dport"]);
        let number = self.one_of(&["53", "67", "443", "4789", "6080", "7"]);
        let (header, field) =
            *self.random.pick(&[("dns", "id"), ("dhcp", "xid"), ("quic", "version"), ("vxlan", "vni")]);
        let shown = format!("print(pkt.{header} and pkt.{header}.{field})");
        let line = format!("if pkt.udp and pkt.eth then {shown} pkt.udp.{port} = {number} {shown} end");
        Some(vec![line!(line)])
    }

    /// The header is a variable that was declared before a write behind which there may be no such header.
    fn read_header_that_is_gone(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::OFFSETS) || self.calm {
            return None;
        }
        self.spend(60);
        let (header, field) = *self.random.pick(&HELD);
        let write = self.one_of(&TAKING_AWAY).replace('N', &self.random.below(16).to_string());
        let gone = if self.random.once_in(3) { "" } else { "not " };
        let read = match self.has(Features::ERRORS) {
            true => format!("print(pcall(function() return header.{field} end))"),
            false => format!("print(header.{field})"),
        };
        let line = format!(
            "if pkt.{header} and #pkt > 40 then local header = pkt.{header} {write} if {gone}pkt.{header} then {read} end end"
        );
        Some(vec![line!(line)])
    }

    /// The field's name is found out at packet time.
    fn assign_field_by_name(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::ERRORS) {
            return None;
        }
        self.spend(60);
        let (header, field, value, _) = self.in_function(Self::assigned);
        let other = self.one_of(&["ttl", "dport", "type", "version", "length"]);
        let condition = self.in_function(|it| it.condition(1));
        let body = format!("header[$ and \"{field}\" or \"{other}\"] = $");
        let line = format!("pcall(function() local header = pkt.{header} {body} end)");
        Some(vec![line!(line, condition, value)])
    }

    fn assigned(&mut self) -> Assigned {
        match self.random.below(10) {
            0..=5 => {
                let (header, field, bits) = *self.random.pick(&NUMBERS);
                // Without writes by offset, checksums stay right, and what headers say is there is there.
                let tells_lies = field == "checksum" || matches!((header, field), ("eth" | "vlan", "type"));
                let (header, field, bits) = match tells_lies && !self.has(Features::OFFSETS) {
                    true => ("ip", "ttl", 8),
                    false => (header, field, bits),
                };
                let version = match (header, field) {
                    ("ip", "id" | "checksum") => Some(4),
                    ("ip", "flow") => Some(6),
                    _ => None,
                };
                (header, field, self.number_of_bits(bits), version)
            }
            6 => {
                let (header, field) = *self.random.pick(&FLAGS);
                (header, field, self.condition(2), (header == "ip").then_some(4))
            }
            _ => {
                let (header, field, values) = *self.random.pick(&ADDRESSES);
                let value = *self.random.pick(values);
                let version = match header {
                    "ip" if value.contains(':') => Some(6),
                    "ip" if value.contains('"') => Some(4),
                    _ => None,
                };
                (header, field, Expression::leaf(ExpressionKind::Text, value), version)
            }
        }
    }

    /// An integer that mostly fits.
    pub(super) fn number_of_bits(&mut self, bits: u32) -> Expression {
        let most = (1_u64 << bits) - 1;
        match self.random.below(16) {
            0 if self.has(Features::ERRORS) => self.integer(2),
            1..=3 => Expression::leaf(ExpressionKind::Integer, most.to_string()),
            4..=5 => Expression::leaf(ExpressionKind::Integer, "0"),
            _ => expr!(Integer, format!("($ & {most})"), self.integer(2)),
        }
    }
}
