//! What the kernel keeps beside packets, and sending them elsewhere, at hooks that have it.

use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::FORWARDING, 4, Generator::assign_metadata),
    (Features::FORWARDING, 3, Generator::assign_record),
    (Features::FORWARDING, 2, Generator::show_record),
    (Features::FORWARDING, 2, Generator::return_redirect),
    (Features::FORWARDING, 2, Generator::attempt_to_forward),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::FORWARDING, 4, |it, _| it.metadata()),
    (Features::FORWARDING, 3, |it, _| it.field_of_record()),
    (Features::FORWARDING, 3, |it, _| it.redirect()),
    (Features::FORWARDING, 2, |it, _| it.redirect_by_map()),
];

/// What hooks keep beside packets (docs/packet.md), and what says that a hook can change it: what else it has.
const METADATA: [(&str, Option<&str>); 8] = [
    ("ifindex", None),
    ("rxhash", None),
    ("hwtimestamp", None),
    ("timestamp", Some("pkt.queue and pkt.mark")),
    ("mark", Some("pkt.mark")),
    ("priority", Some("pkt.priority")),
    ("queue", Some("pkt.queue and pkt.mark")),
    // Of XDP alone, as below.
    ("meta", Some(IS_XDP)),
];

const IS_XDP: &str = "pkt.eth and not pkt.mark";

/// Fields of records in front of packets that are integers; `flag` is a boolean.
const FIELDS: [&str; 3] = ["class", "port", "size"];

impl Generator {
    fn metadata(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        let (name, _) = *self.random.pick(&METADATA);
        let other = self.constant();
        Some(match name {
            "meta" => expr!(Integer, "(type(pkt.meta) == \"number\" and pkt.meta or $)", other),
            _ => expr!(Integer, format!("(pkt.{name} or $)"), other),
        })
    }

    fn field_of_record(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        let (field, other) = (*self.random.pick(&FIELDS), self.constant());
        Some(expr!(Integer, format!("(type(pkt.meta) == \"userdata\" and pkt.meta.{field} or $)"), other))
    }

    /// Hooks whose packets begin with an Ethernet header are those that can send them elsewhere.
    fn redirect(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let to = self.interface();
        let other = self.constant();
        Some(expr!(Integer, "(pkt.eth and redirect($) or $)", to, other))
    }

    /// XDP is what has no marks among the hooks whose packets begin with an Ethernet header.
    fn redirect_by_map(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        self.spend(40);
        let (target, other) = (self.target(), self.constant());
        Some(expr!(Integer, "(pkt.eth and not pkt.mark and redirect($) or $)", target, other))
    }

    fn target(&mut self) -> Expression {
        match self.random.below(6) {
            0 => expr!(Integer, format!("{{ cpu = #pkt % {} }}", self.random.below(9) + 1)),
            1 => expr!(
                Integer,
                format!("{{ cpu = {}, queue = {} }}", self.random.below(4), 1 << self.random.below(15))
            ),
            2 if self.has(Features::ERRORS) => match self.random.below(3) {
                // Nobody receives anything.
                0 => expr!(Integer, "{ socket = $ }", self.integer(1)),
                _ => expr!(Integer, "{ cpu = $ }", self.integer(1)),
            },
            3 => expr!(Integer, "{ group = #pkt % 2 == 0 and { \"eth0\", \"eth1\" } or { 7 } }"),
            _ => expr!(Integer, format!("{{ group = {{ \"eth0\", {} }} }}", self.random.below(3) + 1)),
        }
    }

    fn interface(&mut self) -> Expression {
        match self.random.below(6) {
            0 => expr!(Integer, "(#pkt + 1)"),
            1 if self.has(Features::ERRORS) => self.integer(1),
            2 if self.has(Features::TEXTS) => self.text(2),
            3 => expr!(Text, format!("(\"veth\" .. {})", self.random.below(20))),
            _ => expr!(Text, "\"eth0\""),
        }
    }

    fn assign_metadata(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        let (name, condition) = *self.random.pick(&METADATA);
        let value = self.in_function(|it| match name {
            "meta" => it.integer(2),
            _ => it.number_of_bits(32),
        });
        Some(vec![match condition {
            Some(condition) if !(self.has(Features::ERRORS) && self.random.once_in(6)) => {
                line!(format!("if {condition} then pkt.{name} = $ end"), value)
            }
            _ if self.has(Features::ERRORS) => line!(format!("pcall(function() pkt.{name} = $ end)"), value),
            _ => return None,
        }])
    }

    /// A record, or a field of one. Some fields are not there, some by chance.
    fn assign_record(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let field = *self.random.pick(&FIELDS);
        let (first, second) = (self.in_function(|it| it.integer(2)), self.in_function(|it| it.integer(1)));
        let condition = self.in_function(|it| it.condition(1));
        Some(vec![match self.random.below(6) {
            0 => line!(
                format!("if {IS_XDP} then pkt.meta = {{ class = $, {field} = $, flag = $ }} end"),
                first,
                second,
                condition
            ),
            1 => line!(
                format!(
                    "if {IS_XDP} then local t = {{ class = $ }} if $ then t.{field} = $ end pkt.meta = t end"
                ),
                first,
                condition,
                second
            ),
            2 => line!(
                format!("if {IS_XDP} then pkt.meta = {{ {field} = $ and $ or nil, size = $ }} end"),
                condition,
                first,
                second
            ),
            3 => line!(
                format!("if {IS_XDP} and type(pkt.meta) == \"userdata\" then pkt.meta.{field} = $ end"),
                first
            ),
            4 => line!(
                format!("if {IS_XDP} and type(pkt.meta) == \"userdata\" then pkt.meta.flag = $ end"),
                condition
            ),
            _ if self.has(Features::ERRORS) => {
                line!(
                    format!("print(pcall(function() pkt.meta = {{ {field} = $ and $ or \"text\" }} end))"),
                    condition,
                    first
                )
            }
            _ => line!(
                format!(
                    "if {IS_XDP} then local m = pkt.meta pkt.meta = {{ port = $ }} if m and type(m) ~= \"number\" then print(m.port, m.flag) end end"
                ),
                second
            ),
        }])
    }

    fn show_record(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        Some(vec![line!(
            "if type(pkt.meta) == \"userdata\" then local m = pkt.meta print(m.class, m.port, m.flag, m == pkt.meta) end"
        )])
    }

    fn return_redirect(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || self.scope.results.is_some() {
            return None;
        }
        let (to, condition) = (self.interface(), self.condition(1));
        Some(vec![line!(
            "if pkt.eth and $ then local verdict = redirect($) return verdict end",
            condition,
            to
        )])
    }

    /// What is an error at some hooks.
    fn attempt_to_forward(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::ERRORS) {
            return None;
        }
        self.spend(40);
        let to = self.in_function(Self::interface);
        Some(vec![match self.random.below(3) {
            0 => line!("print(pcall(function() return pkt:route() end))"),
            1 => line!("print(pcall(function() return route(pkt) end))"),
            _ => line!("print(pcall(function() local verdict = redirect($) return verdict end))", to),
        }])
    }
}
