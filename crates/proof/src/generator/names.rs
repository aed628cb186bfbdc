//! Names that are known only when the packet is there, by many ways: from globals, callbacks and metamethods; and a library whose
//! functions the script changes or keeps elsewhere.

use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

/// Globals of a script that hold names.
#[derive(Clone)]
pub(super) struct Names {
    header: String,
    field: String,
    method: String,
    /// A table whose metamethods give back the other operand.
    echo: String,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::NAMING, 4, Generator::header_by_name),
    (Features::NAMING, 3, Generator::rename),
    (Features::NAMING, 3, Generator::headers_of_text),
    (Features::NAMING, 3, Generator::library_elsewhere),
    (Features::NAMING, 4, Generator::method_of_text),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::NAMING, 3, Generator::field_by_name)];

const HEADERS: [&str; 5] = ["ip", "tcp", "udp", "eth", "icmp"];
const FIELDS: [&str; 3] = ["ttl", "proto", "version"];
const METHODS: [&str; 4] = ["upper", "reverse", "twice", "len"];

/// What a script does to the functions of strings; S is a name of its own.
const LIBRARY: [&[&str]; 6] = [
    &["function string.twice(s) return s .. s end"],
    &["function string:twice() return self:sub(1, 3) .. #self end"],
    &["local S = string.upper", "string.upper = function(s) return \"<\" .. S(s) .. \">\" end"],
    &["string.reverse = function(s) return s:sub(2) .. s:sub(1, 1) end"],
    &["local S = string.len", "string.len = function(s) return S(s) + 1 end"],
    &["function string.rep(s, k) return s .. k end"],
];

/// Functions of libraries, and arguments of theirs.
const ELSEWHERE: [(&str, &str); 6] = [
    ("table.concat", "{ 1, 2, 3 }, \"-\""),
    ("string.rep", "\"ab\", 2"),
    ("math.max", "3, #pkt"),
    ("tostring", "#pkt"),
    ("string.format", "\"%d.\", 7"),
    ("select", "\"#\", 1, 2"),
];

impl Generator {
    pub(super) fn names_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::NAMING) {
            return Vec::new();
        }
        let [header, field, method, echo] =
            ["HEADER", "FIELD", "METHOD", "echo"].map(|kind| self.fresh(kind));
        let (first, second, third) = (self.one_of(&HEADERS), self.one_of(&FIELDS), self.one_of(&METHODS));
        let mut all = vec![
            line!(format!("{header}, {field}, {method} = \"{first}\", \"{second}\", \"{third}\"")),
            line!(format!("local {echo} = setmetatable({{}}, {{")),
            line!("  __add = function(a, b) return b end, __concat = function(a, b) return b end,"),
            line!("  __call = function(_, k) return k end, __index = function(_, k) return k end })"),
            line!("string.twice = string.reverse"),
        ];
        for _ in 0..self.random.below(4) {
            let own = self.fresh("old");
            let change = *self.random.pick(&LIBRARY);
            all.extend(change.iter().map(|text| line!(text.replace('S', &own))));
        }
        self.names_known = Some(Names { header, field, method, echo });
        all
    }

    /// A name, by one of the ways.
    fn way_to(&mut self, name: &str, global: &str) -> String {
        let echo = self.names_known.as_ref().map(|names| names.echo.clone()).unwrap_or_default();
        match self.random.below(6) {
            0 => format!("{echo} + \"{name}\""),
            1 => format!("{echo} .. \"{name}\""),
            2 => format!("{echo}(\"{name}\")"),
            3 => format!("{echo}.{name}"),
            _ => global.to_string(),
        }
    }

    fn usable_names(&mut self) -> Option<Names> {
        let usable = self.scope.packet && self.room(2 * WORK_OF_CLOSURE);
        self.names_known.clone().filter(|_| usable).inspect(|_| self.spend(WORK_OF_CLOSURE))
    }

    fn header_by_name(&mut self) -> Option<Vec<Statement>> {
        let names = self.usable_names()?;
        let header = self.one_of(&HEADERS);
        let way = self.way_to(header, &names.header);
        Some(vec![self.shown(vec![expr!(Boolean, format!("(pkt[{way}] ~= nil)"))])])
    }

    fn field_by_name(&mut self, _: usize) -> Option<Expression> {
        let names = self.usable_names()?;
        let field = self.one_of(&FIELDS);
        let way = self.way_to(field, &names.field);
        Some(expr!(Integer, format!("(pkt.ip and pkt.ip[{way}] or $)"), self.constant()))
    }

    /// A global gets another name.
    fn rename(&mut self) -> Option<Vec<Statement>> {
        let names = self.usable_names()?;
        let condition = self.condition(1);
        let (name, [one, other]) = match self.random.below(3) {
            0 => (names.header, [0; 2].map(|_| self.one_of(&HEADERS))),
            1 => (names.field, [0; 2].map(|_| self.one_of(&FIELDS))),
            _ => (names.method, [0; 2].map(|_| self.one_of(&METHODS))),
        };
        Some(vec![line!(format!("{name} = $ and \"{one}\" or \"{other}\""), condition)])
    }

    /// Words of a text as names.
    fn headers_of_text(&mut self) -> Option<Vec<Statement>> {
        self.usable_names()?;
        self.spend(3 * WORK_OF_CLOSURE);
        let text = self.one_of(&["\"udp tcp ip\"", "\"ip,icmp\"", "\"eth\""]);
        let replaced = match self.random.below(3) {
            0 => {
                format!("(string.gsub({text}, \"%a+\", function(w) return pkt[w] and \"yes\" or \"no\" end))")
            }
            1 => format!("(({text}):gsub(\"(%a)(%a+)\", function(a, b) return pkt[a .. b] and b or a end))"),
            _ => {
                let words = vec![line!("found = found .. (pkt[w] and 1 or 0)")];
                let traversal = line!(format!("for w in ({text}):gmatch(\"%a+\") do$end"), words);
                let shown = self.shown(vec![expr!(Text, "found")]);
                return Some(vec![line!("do$end", vec![line!("local found = \"\""), traversal, shown])]);
            }
        };
        Some(vec![self.shown(vec![expr!(Text, replaced)])])
    }

    /// A function of the library from another table or variable.
    fn library_elsewhere(&mut self) -> Option<Vec<Statement>> {
        self.usable_names()?;
        let (function, arguments) = *self.random.pick(&ELSEWHERE);
        let holder = self.fresh("o");
        let body = match self.random.below(3) {
            0 => vec![
                line!(format!("local {holder} = {{}}")),
                line!(format!("{holder}.mk = {function}")),
                self.shown(vec![expr!(Any, format!("{holder}.mk({arguments})"))]),
            ],
            1 => vec![
                line!(format!("local {holder} = {{ mk = {function} }}")),
                self.shown(vec![expr!(Any, format!("{holder}[\"m\" .. \"k\"]({arguments})"))]),
            ],
            _ => {
                let condition = self.condition(1);
                vec![
                    line!(format!("local {holder} = $ and {function} or type"), condition),
                    self.shown(vec![expr!(Any, format!("{holder}({arguments})"))]),
                ]
            }
        };
        Some(vec![line!("do$end", body)])
    }

    /// Methods of strings, which may be the script's.
    fn method_of_text(&mut self) -> Option<Vec<Statement>> {
        let names = self.usable_names()?;
        let text = self.short_text(1);
        let called = self.one_of(&METHODS);
        let shown = match self.random.below(3) {
            0 => expr!(Any, format!("string[{}]($)", names.method), text),
            1 => expr!(Any, format!("pcall(function() return ($):{called}():{called}() end)"), text),
            _ => expr!(Any, format!("$:{called}()"), text),
        };
        Some(vec![self.shown(vec![shown])])
    }
}
