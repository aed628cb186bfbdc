//! Strings: constants, bytes of the frame, concatenation, and the library functions that need no pattern.
//!
//! Strings that are kept stay short, so that no loop makes them grow; strings that would read as a float do not come up.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Part, Statement, at_least, expr, line, optional};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::TEXTS, 10, Generator::local_text),
    (Features::TEXTS, 5, Generator::assign_text),
    (Features::TEXTS, 3, Generator::print_bytes),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::TEXTS, 3, |it, _| Some(expr!(Integer, "#$", it.text(1)))),
    (Features::TEXTS, 3, |it, _| {
        let text = it.text(1);
        Some(expr!(Integer, "($:byte($) or $)", text, it.position(), it.constant()))
    }),
    (Features::TEXTS, 2, Generator::plain_find),
    (Features::TEXTS, 1, |it, _| Some(expr!(Integer, "math.max(0, $:byte(1, -1))", it.text(1)))),
    (Features::TEXTS, 1, |it, _| {
        let base = it.one_of(&["36", "16", "2", "8", "10"]);
        Some(expr!(Integer, format!("(tonumber($, {base}) or $)"), it.text(1), it.constant()))
    }),
];

const TEXTS: Rules<ExpressionRule> = &[
    (Features::TEXTS, 8, |it, _| Some(it.constant_text())),
    (Features::TEXTS, 10, |it, _| Some(Expression::leaf(ExpressionKind::Text, it.variable(Sort::Text)?))),
    (Features::TEXTS, 8, |it, _| it.bytes_of_frame()),
    (Features::TEXTS, 8, Generator::concatenation),
    (Features::TEXTS, 6, Generator::part_of_text),
    (Features::TEXTS, 4, Generator::converted),
    (Features::TEXTS, 3, Generator::repeated),
    (Features::TEXTS, 3, Generator::of_bytes),
    (Features::TEXTS, 3, Generator::either_text),
    (Features::TEXTS, 1, |it, depth| {
        let name = it.one_of(&["max", "min"]);
        let texts = vec![it.text(depth.min(1)), it.text(1), it.constant_text()];
        Some(expr!(Text, format!("math.{name}($)"), at_least(1, texts)))
    }),
    (Features::LISTS, 4, |it, depth| it.joined(depth)),
    (Features::RECORDS, 2, |it, depth| it.fields_as_text(depth)),
    (Features::PATTERNS, 6, |it, depth| it.substituted(depth)),
    (Features::PATTERNS, 4, |it, depth| it.matched(depth)),
    (Features::FORMATS, 8, |it, depth| it.formatted(depth)),
    (Features::UTF8, 3, |it, depth| it.characters(depth)),
    (Features::METAMETHODS, 5, |it, depth| it.text_of_object(depth)),
];

/// String literals; none reads as a number but the decimal ones.
const CONSTANTS: [&str; 18] = [
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "\"hello world\"",
    "\"key=value; other=12\"",
    "\"a,b,,c\"",
    "\"GET /index.html HTTP/v11\"",
    "\"10\"",
    "\"-7\"",
    "\"  trim me  \"",
    "\"x\\ny\\tz\"",
    "\"\\0\\1\\255\"",
    "\"(a(b)c)\"",
    "\"THE (quick) fox\"",
    "\"aaaaab\"",
    "\"%d$^.*\"",
    "\"0123456789abcdef\"",
    "\"\\u{e4}\\u{20ac}\\u{1f600}\"",
];

impl Generator {
    pub(super) fn constant_text(&mut self) -> Expression {
        let text = self.one_of(&CONSTANTS);
        Expression::leaf(ExpressionKind::Text, format!("({text})"))
    }

    /// An expression whose value is a string.
    pub(super) fn text(&mut self, depth: usize) -> Expression {
        self.spend(2);
        let known = self.variable(Sort::Text);
        if depth == 0 || !self.room(20) || !self.has(Features::TEXTS) {
            return match known {
                Some(name) if self.random.once_in(2) => Expression::leaf(ExpressionKind::Text, name),
                _ => self.constant_text(),
            };
        }
        let rule = self.chosen(&[TEXTS, super::addresses::TEXTS]);
        rule.and_then(|rule| rule(self, depth)).unwrap_or_else(|| self.constant_text())
    }

    /// A string of 40 bytes at most.
    pub(super) fn short_text(&mut self, depth: usize) -> Expression {
        self.spend(8);
        let short = self.kit("short");
        expr!(Text, format!("{short}($)"), self.text(depth))
    }

    pub(super) fn texts_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::TEXTS) {
            return Vec::new();
        }
        let name = self.fresh("s");
        let value = self.constant_text();
        self.scope.add(&name, Sort::Text, false);
        vec![line!(format!("local {name} = $"), value)]
    }

    fn local_text(&mut self) -> Option<Vec<Statement>> {
        let value = if self.random.once_in(2) { self.text(1) } else { self.short_text(3) };
        let name = self.fresh("s");
        self.scope.add(&name, Sort::Text, true);
        Some(vec![line!(format!("local {name} = $"), value)])
    }

    fn assign_text(&mut self) -> Option<Vec<Statement>> {
        let name = self.assignable(Sort::Text)?;
        let value = match self.random.once_in(2) {
            true => self.short_text(2),
            false => {
                let short = self.kit("short");
                let more = self.text(1);
                expr!(Text, format!("{short}({name} .. $)"), more)
            }
        };
        Some(vec![line!(format!("{name} = $"), value)])
    }

    fn print_bytes(&mut self) -> Option<Vec<Statement>> {
        let text = self.text(2);
        let bytes = expr!(Any, "$:byte($, $)", text, self.position(), self.position());
        let title = self.constant_text();
        Some(vec![self.shown(vec![title, bytes])])
    }

    /// A position in a string, from either end or outside of it.
    pub(super) fn position(&mut self) -> Expression {
        match self.random.below(6) {
            0 => expr!(Integer, "($ & 15)", self.integer(1)),
            1 => expr!(Integer, "(-($ & 15))", self.integer(1)),
            2 => self.integer(1),
            _ => {
                let value = self.random.below(18) as i64 - 6;
                let text = if value < 0 { format!("({value})") } else { value.to_string() };
                Expression::leaf(ExpressionKind::Integer, text)
            }
        }
    }

    fn plain_find(&mut self, _: usize) -> Option<Expression> {
        let (text, what) = (self.text(1), self.text(1));
        Some(expr!(Integer, "($:find($, $, true) or $)", text, what, self.position(), self.constant()))
    }

    fn concatenation(&mut self, depth: usize) -> Option<Expression> {
        let (left, right) = (self.text(depth - 1), self.text(depth - 1));
        Some(match self.random.below(4) {
            0 => expr!(Text, "($ .. $)", left, self.integer(depth - 1)),
            1 => expr!(Text, "($ .. $)", self.integer(depth - 1), left),
            2 => expr!(Text, "($ .. $ .. $)", left, self.integer(0), right),
            _ => expr!(Text, "($ .. $)", left, right),
        })
    }

    fn part_of_text(&mut self, depth: usize) -> Option<Expression> {
        let text = self.text(depth - 1);
        let to = match self.random.once_in(3) {
            true => Part::Word(String::new()),
            false => optional!(", $", self.position()),
        };
        let from = self.position();
        Some(match self.random.once_in(3) {
            true => expr!(Text, "string.sub($, $$)", text, from, to),
            false => expr!(Text, "$:sub($$)", text, from, to),
        })
    }

    fn converted(&mut self, depth: usize) -> Option<Expression> {
        let text = self.text(depth - 1);
        Some(match self.random.below(5) {
            0 => expr!(Text, "$:upper()", text),
            1 => expr!(Text, "$:lower()", text),
            2 => expr!(Text, "$:reverse()", text),
            3 => expr!(Text, "tostring($)", self.integer(depth - 1)),
            _ => expr!(Text, "tostring($)", self.condition(1)),
        })
    }

    fn repeated(&mut self, depth: usize) -> Option<Expression> {
        let text = self.text(depth - 1);
        Some(match self.random.once_in(3) {
            true => expr!(Text, "$:rep($, \", \")", text, self.small(3)),
            false => expr!(Text, "$:rep($)", text, self.small(3)),
        })
    }

    fn of_bytes(&mut self, depth: usize) -> Option<Expression> {
        let count = 1 + self.random.below(3);
        let bytes: Vec<Expression> =
            (0..count).map(|_| expr!(Integer, "($ & 255)", self.integer(depth - 1))).collect();
        Some(expr!(Text, "string.char($)", at_least(0, bytes)))
    }

    fn either_text(&mut self, depth: usize) -> Option<Expression> {
        let condition = self.condition(1);
        Some(expr!(Text, "($ and $ or $)", condition, self.text(depth - 1), self.text(depth - 1)))
    }
}
