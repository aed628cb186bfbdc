//! Packets that become longer and shorter, and their checksums.

use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::LENGTHS, 3, Generator::fix_checksums),
    (Features::LENGTHS, 4, Generator::change_length),
    (Features::LENGTHS, 1, Generator::attempt_to_change_length),
    (Features::LENGTHS, 3, Generator::change_tags),
    (Features::LENGTHS, 2, Generator::assign_tag),
    (Features::LENGTHS, 3, Generator::tunnel),
    (Features::LENGTHS, 3, Generator::assign_payload),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::LENGTHS, 5, |it, _| it.checksum())];

impl Generator {
    fn fix_checksums(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let condition = self.writable();
        Some(vec![line!(format!("{condition}pkt:fix_checksums() end"))])
    }

    /// Mostly where the kernel does it: in front there are some 200 bytes at XDP, and at tc only IP packets are changed there.
    fn change_length(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let most = if self.random.once_in(4) { 63 } else { 15 };
        let count = self.small(most);
        let all = [
            ("#pkt < 1500", "grow($)"),
            ("#pkt < 1500", "grow($, \"tail\")"),
            ("#pkt > 80", "shrink($)"),
            ("#pkt < 130 and pkt.ip and not pkt.vlan", "grow($, \"head\")"),
            ("#pkt > 130 and pkt.ip and not pkt.vlan", "shrink($, \"head\")"),
        ];
        // Without writes by offset, headers stay where they are, and packets whole.
        let usable = if self.has(Features::OFFSETS) { &all[..] } else { &all[..2] };
        let (condition, change) = *self.random.pick(usable);
        Some(vec![line!(format!("if pkt.eth and {condition} then pkt:{change} end"), count)])
    }

    fn attempt_to_change_length(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::ERRORS) {
            return None;
        }
        self.spend(40);
        let method = self.one_of(&["grow", "shrink"]);
        let end = self.one_of(&["\"tail\"", "nil", "\"middle\"", "7"]);
        let count = match self.random.below(3) {
            0 => self.integer(2),
            1 => expr!(Integer, "(#pkt - $)", self.small(31)),
            _ => self.small(31),
        };
        let change = format!("pcall(pkt.{method}, pkt, $, {end})");
        Some(vec![line!(format!("if #pkt < 1000 then {change} end"), count)])
    }

    fn change_tags(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        if self.random.once_in(3) {
            let condition = self.writable();
            return Some(vec![line!(format!("{condition}if pkt.vlan then pkt:pop_vlan() end end"))]);
        }
        let (id, priority) = (self.number_of_bits(12), self.number_of_bits(3));
        let kind = self.one_of(&["", "", ", 0x88a8", ", 0x8100", ", nil"]);
        Some(vec![match self.random.below(3) {
            0 => {
                line!(format!("if pkt.eth and #pkt < 130 then pkt:push_vlan($, $ {kind}) end"), id, priority)
            }
            1 => line!("if pkt.eth and #pkt < 130 then pkt:push_vlan($) end", id),
            _ => line!("if pkt.eth and pkt.vlan then pkt:pop_vlan() pkt:push_vlan($, $) end", id, priority),
        }])
    }

    /// Puts the IP packet into another one, where there is one, or takes it out.
    fn tunnel(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(30);
        if self.random.once_in(3) {
            let guarded = if self.has(Features::ERRORS) {
                "if pkt.eth and pkt.ip then pcall(pkt.decap, pkt)"
            } else {
                "if pkt.eth and pkt.ip and (pkt.ip.proto == 4 or pkt.ip.proto == 41) then pkt:decap()"
            };
            return Some(vec![line!(format!("{guarded} print(#pkt, pkt.ip and pkt.ip.dst) end"))]);
        }
        let (source, target) = *self.random.pick(&[
            ("\"192.0.2.77\"", "\"198.51.100.1\""),
            ("\"2001:db8::77\"", "\"fe80::1:0:1\""),
            ("pkt.ip.dst", "pkt.ip.src"),
            ("pkt.ip.src", "pkt.ip.src"),
        ]);
        let number = if self.random.once_in(2) { self.number_of_bits(8) } else { self.number_of_bits(16) };
        let addresses = format!("src = {source}, dst = {target}");
        let call = match self.random.below(6) {
            0 => format!("encap({source}, {target}, $ & 0xff)"),
            1 => format!("encap{{{addresses}, ttl = $ & 0xff, gre = {{}}}}"),
            2 => format!("encap{{{addresses}, gre = {{key = $}}}}"),
            3 => format!("encap{{{addresses}, vxlan = {{vni = $, sport = pkt.udp and pkt.udp.sport}}}}"),
            4 => format!("encap{{{addresses}, vxlan = {{vni = 7, port = $}}}}"),
            _ => format!("encap{{{addresses}, gue = {{sport = $}}}}"),
        };
        let back = self.one_of(&["", "", "pkt:decap()"]);
        let call =
            format!("pkt:{call} print(pkt.ip.length, pkt.ip.checksum, pkt.ip.dst, pkt.payload) {back}");
        Some(vec![line!(
            format!("if pkt.eth and pkt.ip and not pkt.vlan and #pkt < 110 then {call} end"),
            number
        )])
    }

    fn assign_payload(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(60);
        let text = match self.has(Features::TEXTS) && self.random.once_in(2) {
            true => self.text(2),
            false => Expression::leaf(
                ExpressionKind::Text,
                self.one_of(&[
                    "\"\"",
                    "\"an answer\"",
                    "pkt:getstring(1, 13)",
                    "pkt.payload:sub(3)",
                    "tostring(#pkt)",
                ]),
            ),
        };
        let header = self.one_of(&["pkt.payload", "pkt.payload", "pkt.udp", "pkt.tcp", "pkt.icmp"]);
        let there = format!("pkt.eth and #pkt < 800 and {header} and not pkt.ip.more_fragments");
        let sums = "(pkt.tcp or pkt.udp or pkt.icmp).checksum";
        let line = format!("if {there} then pkt.payload = $ print(#pkt, pkt.ip.length, {sums}) end");
        Some(vec![line!(line, text)])
    }

    /// Of the tag that is there then.
    fn assign_tag(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let fields = [("id", 12), ("priority", 3), ("type", 16)];
        let usable = if self.has(Features::OFFSETS) { &fields[..] } else { &fields[..2] };
        let (field, bits) = *self.random.pick(usable);
        let value = self.number_of_bits(bits);
        Some(vec![line!(
            format!(
                "if pkt.vlan and #pkt > 30 then pkt.vlan.{field} = $ print(pkt.vlan.{field}, pkt.vlan.inner_id) end"
            ),
            value
        )])
    }

    /// Packets without an Ethernet header can only be read: writing them is an error.
    fn writable(&mut self) -> &'static str {
        match self.has(Features::ERRORS) && self.random.once_in(12) {
            true => "do ",
            false => self.one_of(&[
                "if pkt.eth then ",
                "if pkt.eth and not pkt.ip then ",
                "if pkt.eth and pkt.udp then ",
            ]),
        }
    }

    fn checksum(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        Some(match self.random.below(6) {
            0 => expr!(Integer, "pkt:checksum()"),
            1 => expr!(Integer, "pkt:checksum($)", self.small(13)),
            2 => expr!(Integer, "pkt:checksum($ % (#pkt + 1))", self.integer(1)),
            3 if self.has(Features::ERRORS) => {
                let guarded = expr!(
                    Integer,
                    "select(2, pcall(pkt.checksum, pkt, $, $))",
                    self.integer(1),
                    self.small(30)
                );
                expr!(Integer, "(math.tointeger($) or 7)", guarded)
            }
            _ => expr!(Integer, "pkt:checksum($, $)", self.small(7), self.small(7)),
        })
    }
}
