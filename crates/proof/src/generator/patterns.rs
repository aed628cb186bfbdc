//! Patterns of all kinds, with `find`, `match`, `gmatch` and `gsub` (manual § 6.5.1).
//!
//! A pattern has two repetitions at most and subjects are short, so that no match takes long.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::PATTERNS, 4, Generator::print_captures),
    (Features::PATTERNS, 4, Generator::each_match),
    (Features::PATTERNS, 4, Generator::print_substitution),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::PATTERNS, 3, |it, _| {
        let subject = it.subject();
        Some(expr!(Integer, "($:find($) or $)", subject, it.pattern(), it.constant()))
    }),
    (Features::PATTERNS, 2, |it, _| {
        let subject = it.subject();
        Some(expr!(Integer, "(select(2, $:gsub($, \"\")))", subject, it.pattern()))
    }),
];

const CLASSES: [&str; 24] = [
    ".", "%a", "%d", "%l", "%s", "%u", "%w", "%x", "%p", "%c", "%g", "%A", "%D", "%S", "%W", "%.", "%%",
    "[a-f]", "[^%d]", "[%w_]", "[%a-z]", "[]x]", "[Oo]", "[aA]",
];

const LITERALS: [&str; 12] = ["a", "b", "c", "o", "=", ",", " ", "1", "0", "\\0", "/", "l"];

impl Generator {
    /// What a pattern is matched against.
    fn subject(&mut self) -> Expression {
        self.spend(40);
        if self.random.once_in(2) { self.short_text(1) } else { self.text(0) }
    }

    /// A pattern without errors.
    pub(super) fn pattern(&mut self) -> Expression {
        let text = self.pattern_text();
        Expression::leaf(ExpressionKind::Text, format!("\"{text}\""))
    }

    fn pattern_text(&mut self) -> String {
        let mut text = String::new();
        if self.random.once_in(6) {
            text.push('^');
        }
        let (mut repetitions, mut open, mut closed) = (0, 0, 0);
        for _ in 0..1 + self.random.below(4) {
            if self.random.once_in(4) && open < 2 {
                text.push('(');
                open += 1;
                if self.random.once_in(4) {
                    text.push(')');
                    open -= 1;
                    closed += 1;
                }
            }
            self.pattern_item(&mut text, &mut repetitions, closed * usize::from(open == 0));
            if open > 0 && self.random.once_in(2) {
                text.push(')');
                open -= 1;
                closed += 1;
            }
        }
        text.push_str(&")".repeat(open));
        if self.random.once_in(6) {
            text.push('$');
        }
        text
    }

    /// One item; a back reference only to one of `captures` that are complete.
    fn pattern_item(&mut self, text: &mut String, repetitions: &mut usize, captures: usize) {
        match self.random.below(12) {
            0 => text.push_str(self.one_of(&["%b()", "%bxy", "%f[%w]", "%f[%W]", "%f[\\0]"])),
            1 if captures > 0 => text.push_str("%1"),
            2..=5 => text.push_str(self.one_of(&LITERALS)),
            _ => {
                text.push_str(self.one_of(&CLASSES));
                let repeat = if *repetitions < 2 { self.one_of(&["", "*", "+", "-", "?"]) } else { "" };
                *repetitions += usize::from(!matches!(repeat, "" | "?"));
                text.push_str(repeat);
            }
        }
    }

    /// All results of a search.
    fn print_captures(&mut self) -> Option<Vec<Statement>> {
        let (subject, pattern) = (self.subject(), self.pattern());
        let found = match self.random.below(4) {
            0 => expr!(Any, "$:find($)", subject, pattern),
            1 => expr!(Any, "$:match($)", subject, pattern),
            2 => expr!(Any, "string.find($, $, $)", subject, pattern, self.position()),
            _ => expr!(Any, "string.match($, $, $)", subject, pattern, self.position()),
        };
        Some(vec![self.shown(vec![found])])
    }

    fn each_match(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(400) {
            return None;
        }
        let (subject, pattern) = (self.subject(), self.pattern());
        let (first, second, count) = (self.fresh("m"), self.fresh("m"), self.fresh("c"));
        let mut body = vec![line!(format!("{count} = {count} + 1"))];
        body.extend(self.turns(12, |it| {
            it.scope.looping = true;
            it.scope.label = None;
            it.scope.add(&count, Sort::Integer, false);
            let shown = vec![
                Expression::leaf(ExpressionKind::Any, &first),
                Expression::leaf(ExpressionKind::Any, &second),
            ];
            let mut body = vec![it.shown(shown)];
            body.extend(it.statements(1));
            body
        }));
        body.push(line!(format!("if {count} >= 12 then$end"), vec![line!("break")]));
        let head = format!("for {first}, {second} in $:gmatch($) do$end");
        Some(vec![line!(format!("local {count} = 0")), line!(head, subject, pattern, body)])
    }

    pub(super) fn matched(&mut self, depth: usize) -> Option<Expression> {
        let (subject, pattern) = (self.subject(), self.pattern());
        Some(match self.random.once_in(2) {
            true => expr!(Text, "tostring(($:match($)))", subject, pattern),
            false => expr!(
                Text,
                "($:match($) or $)",
                subject,
                Expression::leaf(ExpressionKind::Text, "\"%w+\""),
                self.text(depth - 1)
            ),
        })
    }

    /// The result of `gsub` with a string, a table or a function.
    fn substitution(&mut self) -> Expression {
        let (subject, pattern) = (self.subject(), self.pattern());
        let count =
            if self.random.once_in(4) { expr!(Field, ", $", self.small(3)) } else { expr!(Field, "") };
        match self.random.below(4) {
            0 if self.has(Features::RECORDS) => {
                let table = self.one_of(&["{ a = \"A\", o = 0, b = false }", "{ [\"1\"] = \"one\", c = 3 }"]);
                let table = Expression::leaf(ExpressionKind::Table, table);
                expr!(Text, "$:gsub($, $$)", subject, pattern, table, count)
            }
            0 | 1 if self.has(Features::CLOSURES) && self.room(20 * WORK_OF_CLOSURE) => {
                self.spend(10 * WORK_OF_CLOSURE);
                let function = self.replacer();
                expr!(Text, "$:gsub($, $$)", subject, pattern, function, count)
            }
            _ => {
                let replacement =
                    self.one_of(&["\"\"", "\"<%0>\"", "\"x\"", "\"%%\"", "\"[%0%0]\"", "\"%1\""]);
                let replacement = Expression::leaf(ExpressionKind::Text, replacement);
                expr!(Text, "$:gsub($, $$)", subject, pattern, replacement, count)
            }
        }
    }

    /// A function that gives a string, an integer, false or nothing for a match.
    fn replacer(&mut self) -> Expression {
        let (name, limit) = (self.fresh("m"), WORK_OF_CLOSURE);
        let (body, _) = self.function_body(limit, |it| {
            let mut body = it.statements(1);
            body.push(match it.random.below(4) {
                0 => line!(format!("return #tostring({name}) + $"), it.integer(1)),
                1 => line!(format!("return $ and \"<\" .. {name} .. \">\""), it.condition(1)),
                2 => line!(format!("return tostring({name}):upper(), 1")),
                _ => line!(format!("if {name} == \"a\" then$end"), vec![line!("return \"!\"")]),
            });
            body
        });
        expr!(Function, format!("function({name})$end"), body)
    }

    pub(super) fn substituted(&mut self, _: usize) -> Option<Expression> {
        Some(expr!(Text, "($)", self.substitution()))
    }

    fn print_substitution(&mut self) -> Option<Vec<Statement>> {
        let all = self.substitution();
        Some(vec![self.shown(vec![all])])
    }
}
