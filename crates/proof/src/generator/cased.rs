//! Strings in lower or upper case, and what is done with them: looked up, compared, searched, cut, joined and changed again.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::TEXTS, 8, Generator::print_cased), (Features::TEXTS, 6, Generator::loop_of_case)];

/// What is in lower or upper case later, and in the table of load time.
const TEXTS: [&str; 7] = [
    "Metrics.ADS-network.Example",
    "GET /Index.html",
    "Hello World",
    "User-Agent: X \\r\\n",
    "x",
    "aZ@[`{\\xc4\\xe4",
    "12345678ABCDEFGH",
];

/// Patterns, of which some ask for letters in one case or in either.
const PATTERNS: [&str; 16] = [
    "hello",
    "World",
    "[Hh][Ee]llo",
    "[Uu]ser%-[Aa]gent:[ \\t]*(.-)[ \\t]*\\r?\\n",
    "^(.-)[ \\t]*(%d?)%.",
    "(.-)[%. ]*([a-z]+)",
    "(%l+)%W*(%u*)",
    "[^a-z]+$",
    "%f[%a]%a+",
    "%b<>",
    "(%w)%1",
    "(.-)x*y",
    "()l+()",
    "[A-Z][a-z]",
    "(.-) *()o",
    "X",
];

impl Generator {
    /// A table whose keys are those texts as they are and in both cases: many keys, or few.
    pub(super) fn words_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::TEXTS) {
            return Vec::new();
        }
        let kept = if self.random.once_in(3) { 1 } else { TEXTS.len() };
        let mut fields = Vec::new();
        for (number, text) in TEXTS.iter().take(kept).enumerate() {
            for change in ["", ":lower()", ":upper()"] {
                fields.push(expr!(Field, format!("[(\"{text}\"){change}] = {number}")));
            }
        }
        vec![line!("local words = { $ }", fields)]
    }

    /// A string that is made at packet time, often one that the table has.
    fn subject_of_case(&mut self) -> Expression {
        match self.random.below(4) {
            0 => self.text(2),
            1 => expr!(Text, "(pkt.payload or \"None\"):sub($, $)", self.position(), self.position()),
            _ => {
                let text = self.one_of(&TEXTS);
                expr!(Text, format!("(\"{text}\"):rep(1 + ($ & 1))"), self.integer(1))
            }
        }
    }

    fn print_cased(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.room(200) {
            return None;
        }
        self.spend(100);
        let name = self.fresh("c");
        let change = self.one_of(&["lower", "upper"]);
        let mut all = vec![line!(format!("local {name} = $:{change}()"), self.subject_of_case())];
        if self.random.once_in(3) {
            let other = match self.random.below(3) {
                0 => expr!(Text, format!("{name}:upper()")),
                1 => self.short_text(1),
                _ => expr!(Text, format!("{name}:sub($)"), self.position()),
            };
            let body = vec![line!(format!("{name} = $"), other)];
            all.push(line!("if $ then$end", self.condition(1), body));
        }
        let mut shown: Vec<Expression> =
            (0..1 + self.random.below(4)).map(|_| self.use_of_case(&name)).collect();
        if self.random.once_in(2) {
            shown.push(Expression::leaf(ExpressionKind::Any, &name));
        }
        all.push(self.shown(shown));
        self.scope.add(&name, Sort::Text, false);
        Some(all)
    }

    /// A loop whose turns make strings, of which one in a case is kept for later turns: in a variable, in a table's field, or for a function.
    fn loop_of_case(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.room(300) {
            return None;
        }
        self.spend(200);
        let (kept, word) = (self.fresh("c"), self.fresh("w"));
        let change = self.one_of(&["lower", "upper"]);
        let made = match self.random.below(4) {
            0 => format!("({word} .. \"!\"):{change}()"),
            1 => format!("({word}:rep(2)):{change}():sub(2)"),
            2 => format!("(#{kept}.v .. {word}):{change}()"),
            _ => format!("{word}:{change}()"),
        };
        let when = match self.random.below(3) {
            0 => format!("if {kept}.v == \"\" then {kept}.v = {made} end"),
            1 => format!("if {made} > {kept}.v then {kept}.v = {made} end"),
            _ => format!("{kept}.v = {made}"),
        };
        // A variable's value, or a field's.
        let is_variable = self.random.once_in(2);
        let (start, of) = match is_variable {
            true => (format!("local {kept} = \"\""), kept.clone()),
            false => (format!("local {kept} = {{ v = \"\" }}"), format!("{kept}.v")),
        };
        let when = when.replace(&format!("{kept}.v"), &of);
        let body = vec![
            line!(format!("local {word} = {word} .. $"), self.text(0)),
            line!(when),
            line!(format!("print({word} .. \":\", {of})")),
        ];
        let header = match self.random.below(2) {
            0 => line!(format!("for {word} in ($):gmatch(\"%a+\") do$end"), self.text(1), body),
            _ => line!(format!("for n = 1, 3 do local {word} = \"n\" .. n$end"), body),
        };
        Some(vec![line!(start), header, line!(format!("print({of})"))])
    }

    fn use_of_case(&mut self, name: &str) -> Expression {
        let constant = self.one_of(&TEXTS);
        let change = self.one_of(&["", ":lower()", ":upper()"]);
        match self.random.below(12) {
            0 | 1 => expr!(Any, format!("words[{name}]")),
            2 => expr!(Any, format!("words[{name}:sub($, $)]"), self.position(), self.position()),
            3 => expr!(Any, format!("{name} == (\"{constant}\"){change}")),
            4 => expr!(Any, format!("{name} == $:upper():lower()"), self.text(1)),
            5 => expr!(Any, format!("{name} < $"), self.text(1)),
            6 => expr!(Any, format!("$ .. {name} .. $"), self.text(0), self.integer(0)),
            7 => expr!(Any, format!("({name}:byte($) or #{name})"), self.position()),
            8 => expr!(Any, format!("({name}:find(\"{constant}\", $, true))"), self.position()),
            9 => expr!(Any, format!("{name}{change}:sub($) == {name}"), self.position()),
            _ => {
                let pattern = self.one_of(&PATTERNS);
                let call = self.one_of(&["match", "find"]);
                expr!(Any, format!("({name}:{call}(\"{pattern}\"))"))
            }
        }
    }
}
