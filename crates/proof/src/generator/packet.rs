//! Reads and writes of the frame, by offset and by protocol.

use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

/// What a copy of the frame counts for: packet memory has room for some dozen of the longest.
const WORK_OF_COPY: u64 = 150;

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::OFFSETS, 4, Generator::write), (Features::TEXTS, 2, Generator::write_text)];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::PLAIN, 12, |it, _| it.read()),
    (Features::PROTOCOLS, 4, |it, _| it.field()),
    (Features::ERRORS, 3, |it, _| it.guarded_read()),
];

/// Methods that read an integer, with its size in bytes.
const GETTERS: [(&str, usize); 9] = [
    ("getuint8", 1),
    ("getbyte", 1),
    ("getint8", 1),
    ("getuint16", 2),
    ("getint16", 2),
    ("getuint32", 4),
    ("getint32", 4),
    ("getint64", 8),
    ("getnumber", 8),
];

/// Methods that write one.
const SETTERS: [(&str, usize); 5] =
    [("setuint8", 1), ("setuint16", 2), ("setint32", 4), ("setint64", 8), ("setbyte", 1)];

/// Integer fields of headers (docs/packet.md) that are not nil where the header is there.
pub(super) const FIELDS: [(&str, &str); 20] = [
    ("eth", "type"),
    ("arp", "op"),
    ("ip", "version"),
    ("ip", "ttl"),
    ("ip", "proto"),
    ("ip", "length"),
    ("tcp", "dport"),
    ("tcp", "flags"),
    ("udp", "sport"),
    ("udp", "length"),
    ("icmp", "type"),
    ("dns", "id"),
    ("dns", "opcode"),
    ("dns", "qdcount"),
    ("sctp", "vtag"),
    ("gre", "type"),
    ("vxlan", "vni"),
    ("mpls", "label"),
    ("dhcp", "xid"),
    ("quic", "version"),
];

impl Generator {
    fn read(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        self.spend(4);
        let (method, size) = *self.random.pick(&GETTERS);
        let offset = self.offset(size);
        Some(expr!(Integer, format!("pkt:{method}($)"), offset))
    }

    fn write(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        let (method, size) = *self.random.pick(&SETTERS);
        let (offset, value) = (self.offset(size), self.integer(2));
        Some(vec![line!(format!("pkt:{method}($, $)"), offset, value)])
    }

    /// Writes a short string where it fits.
    fn write_text(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::OFFSETS) {
            return None;
        }
        let text = self.text(2);
        Some(vec![line!("pkt:setstring($, $:sub(1, 7))", self.small(7), text)])
    }

    /// Where `size` bytes are, mostly within the frame (which has 14 at least).
    fn offset(&mut self, size: usize) -> Expression {
        let known = |value: usize| Expression::leaf(ExpressionKind::Integer, value.to_string());
        if self.has(Features::PLACES)
            && self.random.once_in(2)
            && let Some(placed) = self.placed_offset(size)
        {
            return placed;
        }
        let length =
            if self.scope.variables.iter().any(|variable| variable.name == "n") { "n" } else { "#pkt" };
        match self.random.below(32) {
            0..=13 => known(self.random.below(15 - size)),
            14..=19 => {
                expr!(Integer, format!("($ & {})", if size == 8 { 6 } else { 7 }), self.integer(1))
            }
            20..=25 => expr!(Integer, format!("($ % ({length} - {}))", size - 1), self.integer(1)),
            26..=28 => expr!(Integer, format!("({length} - {size})")),
            _ if self.calm => known(0),
            29..=30 => known(12 + self.random.below(14)),
            _ if self.is_plain() => self.integer(1),
            _ => expr!(Integer, "($ & 31)", self.integer(1)),
        }
    }

    /// A byte that may lie behind the frame's end.
    fn guarded_read(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        let offset = 10 + self.random.below(80);
        Some(expr!(Integer, format!("(#pkt > {offset} and pkt:getuint8({offset}) or $)"), self.constant()))
    }

    fn field(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        let (header, field) = *self.random.pick(&FIELDS);
        let inside = self.random.once_in(4);
        let (header, there) = match inside {
            true => (format!("pkt.inner.{header}"), "pkt.inner and "),
            false => (format!("pkt.{header}"), ""),
        };
        Some(expr!(Integer, format!("({there}{header} and {header}.{field} or $)"), self.constant()))
    }

    pub(super) fn header_present(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        let header = self.one_of(&["ip", "tcp", "udp", "vlan", "icmp", "arp", "dns", "http"]);
        Some(Expression::leaf(ExpressionKind::Boolean, format!("(pkt.{header} ~= nil)")))
    }

    /// Bytes of the frame as a string, at most 15.
    pub(super) fn bytes_of_frame(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        Some(match self.random.below(6) {
            0 if self.room(WORK_OF_COPY) => {
                self.spend(WORK_OF_COPY);
                expr!(Text, "tostring(pkt):sub($, $)", self.small(15), self.small(15))
            }
            1 if self.has(Features::PROTOCOLS) => {
                expr!(
                    Text,
                    "($ and pkt.payload or \"none\"):sub(1, 20)",
                    Expression::leaf(ExpressionKind::Any, "pkt.payload")
                )
            }
            2 if self.has(Features::PROTOCOLS) && self.random.once_in(3) => {
                let field = self.one_of(&[
                    "pkt.dns and pkt.dns.qname",
                    "pkt.http and pkt.http.path",
                    "pkt.icmp and pkt.icmp.prefix",
                    "pkt.icmp and pkt.icmp.target_link_address",
                    "pkt.http and pkt.http.host",
                    "pkt.inner and pkt.inner.payload",
                    "pkt.inner and pkt.inner.ip and pkt.inner.ip.dst",
                ]);
                expr!(Text, format!("({field} or \"none\"):sub(-$)"), self.small(15))
            }
            2 if self.has(Features::PROTOCOLS) => expr!(Text, "(pkt.ip and pkt.ip.src or \"none\")"),
            _ => expr!(Text, "pkt:getstring($, $)", self.small(7), self.small(7)),
        })
    }
}
