//! Tables of load time that are rows of a table: what is read of one that the packet chooses.

use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::ROWS, 8, Generator::print_row), (Features::ROWS, 3, Generator::write_from_row)];

/// Values of a field, each of one kind; `nil` leaves the field out.
const COLUMNS: [(&str, &[&str]); 8] = [
    (
        "mac",
        &["\"02:00:00:00:00:01\"", "\"02:00:00:00:00:02\"", "\"ff:ff:ff:ff:ff:ff\"", "\"02:00:00:00:00:0b\""],
    ),
    ("ip", &["\"192.0.2.1\"", "\"192.0.2.2\"", "\"0.0.0.0\"", "\"255.255.255.255\""]),
    ("ip6", &["\"::\"", "\"2001:db8::1\"", "\"::ffff:192.0.2.1\"", "\"fe80::1:0:1\""]),
    ("name", &["\"one\"", "\"two\"", "\"\"", "\"a longer name\"", "\"x\""]),
    ("port", &["80", "0", "-1", "math.maxinteger", "65535"]),
    ("up", &["true", "false"]),
    ("at", &["{ n = 1 }", "{ n = 2, s = \"s\" }", "{}", "{ n = \"three\" }"]),
    // Not all are addresses, or of one kind.
    ("any", &["\"192.0.2.1\"", "\"02:00:00:00:00:01\"", "7", "true", "\"text\"", "\"02:00:00:00:00:0A\""]),
];

/// Fields that are assigned from a row.
const ASSIGNED: [(&str, &str, &str); 4] =
    [("eth", "src", "mac"), ("eth", "dst", "mac"), ("ip", "dst", "ip"), ("ip", "src", "any")];

impl Generator {
    /// `rows`: some tables with some of the fields, in a list; one may be inherited from.
    pub(super) fn rows_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::ROWS) {
            return Vec::new();
        }
        let count = 1 + self.random.below(7);
        let missing = self.random.once_in(2);
        let mut rows = Vec::new();
        for number in 0..count {
            let mut fields = vec![format!("id = {number}")];
            for (field, values) in COLUMNS {
                if !(missing && self.random.once_in(4)) {
                    fields.push(format!("{field} = {}", self.random.pick(values)));
                }
            }
            rows.push(expr!(Field, format!("{{ {} }}", fields.join(", "))));
        }
        let mut all = vec![line!("local rows = { $ }", rows)];
        if self.random.once_in(4) {
            all.push(line!("setmetatable(rows[1], { __index = { name = \"inherited\", port = 4 } })"));
        }
        all
    }

    fn row(&mut self) -> Expression {
        match self.random.below(4) {
            0 => expr!(Any, "rows[$]", self.integer(1)),
            1 => expr!(Any, "(rows[$] or \"none\")", self.small(7)),
            2 => expr!(Any, "(rows[$] or rows[1])", self.small(7)),
            _ => expr!(Any, "rows[$]", self.small(7)),
        }
    }

    fn print_row(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.room(300) {
            return None;
        }
        self.spend(150);
        let name = self.fresh("r");
        let start = line!(format!("local {name} = $"), self.row());
        let mut shown: Vec<Expression> =
            (0..1 + self.random.below(4)).map(|_| self.use_of_row(&name)).collect();
        if self.random.once_in(4) {
            shown.push(expr!(Any, format!("({name} == rows[2])")));
        }
        let mut body = Vec::new();
        if self.random.once_in(5) {
            let field = self.one_of(&["port", "id"]);
            body.push(line!(format!("{name}.{field} = {name}.id + 1")));
        }
        body.push(self.shown(shown));
        Some(vec![start, line!(format!("if type({name}) == \"table\" then$end"), body)])
    }

    fn use_of_row(&mut self, name: &str) -> Expression {
        let (field, values) = *self.random.pick(&COLUMNS);
        let value = *self.random.pick(values);
        let read = format!("{name}.{field}");
        match (self.random.below(8), field) {
            (0 | 1, "at") => expr!(Any, format!("({read} and {read}.n)")),
            (0 | 1, "port") => expr!(Any, format!("(({read} or 0) + $)"), self.integer(1)),
            (0 | 1, "mac" | "ip" | "ip6" | "name") => {
                expr!(Any, format!("({read} or \"\"):sub($, $)"), self.position(), self.position())
            }
            (2, "mac" | "ip" | "ip6" | "name") => expr!(Any, format!("(#({read} or \"\"))")),
            (3, "ip" | "ip6" | "any") => expr!(Any, format!("(pkt.ip and pkt.ip.src == {read})")),
            (3, "mac") => expr!(Any, format!("(pkt.eth and pkt.eth.dst == {read})")),
            (4, _) if !value.starts_with('{') => expr!(Any, format!("({read} == {value})")),
            (5, _) => expr!(Any, format!("({read} and 1 or 2)")),
            (_, "at") => expr!(Any, format!("type({read})")),
            _ => Expression::leaf(ExpressionKind::Any, &read),
        }
    }

    /// An address of a row, assigned; the packet has such a header, or none.
    fn write_from_row(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::WRITES) || !self.room(200) {
            return None;
        }
        self.spend(100);
        let name = self.fresh("r");
        let (header, field, column) = *self.random.pick(&ASSIGNED);
        let start = line!(format!("local {name} = rows[$]"), self.small(7));
        let is_kind = if self.has(Features::ERRORS) { "" } else { " and type(NAME.FIELD) == \"string\"" };
        let is_kind = is_kind.replace("NAME", &name).replace("FIELD", column);
        let version = if header == "ip" && column == "ip" { " and pkt.ip.version == 4" } else { "" };
        if column == "any" && !self.has(Features::ERRORS) {
            return None;
        }
        let body = vec![
            line!(format!("pkt.{header}.{field} = {name}.{column}")),
            line!(format!("print(pkt.{header}.{field}, pkt.{header}.{field} == {name}.{column})")),
        ];
        let head = format!("if {name}{is_kind} and pkt.{header}{version} and not pkt.inner then$end");
        Some(vec![start, line!(head, body)])
    }
}
