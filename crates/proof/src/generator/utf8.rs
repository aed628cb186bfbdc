//! The `utf8` library (manual § 6.6), on text that is UTF-8 and on bytes that are not.

use super::tree::{Expression, ExpressionKind, Statement, at_least, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::UTF8, 3, Generator::each_character), (Features::UTF8, 2, Generator::print_points)];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::UTF8, 2, |it, _| Some(expr!(Integer, "(utf8.len($) or $)", it.text(1), it.constant()))),
    (Features::UTF8, 1, |it, _| {
        let text = it.characters(1)?;
        Some(expr!(Integer, "utf8.codepoint($, 1)", text))
    }),
    (Features::UTF8, 1, |it, _| {
        let text = it.characters(1)?;
        Some(expr!(Integer, "(utf8.offset($, $) or $)", text, it.small(3), it.constant()))
    }),
];

impl Generator {
    /// One to three characters of up to four bytes.
    pub(super) fn characters(&mut self, depth: usize) -> Option<Expression> {
        let mask = self.one_of(&["0x7f", "0x7ff", "0xfff", "0x1ffff"]);
        let count = 1 + self.random.below(3);
        let points: Vec<Expression> = (0..count)
            .map(|_| expr!(Integer, format!("($ & {mask} | 32)"), self.integer(depth.saturating_sub(1))))
            .collect();
        Some(expr!(Text, "utf8.char($)", at_least(1, points)))
    }

    fn each_character(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(100) {
            return None;
        }
        let (place, point) = (self.fresh("i"), self.fresh("v"));
        let text = match self.random.once_in(2) {
            true => self.characters(1)?,
            false => Expression::leaf(ExpressionKind::Text, "\"a\\u{e4}\\u{20ac}\\u{1f600}z\""),
        };
        let body = self.turns(5, |it| {
            it.scope.looping = true;
            it.scope.label = None;
            it.scope.add(&place, super::Sort::Integer, false);
            it.scope.add(&point, super::Sort::Integer, false);
            let mut body = vec![it.print()];
            body.extend(it.statements(1));
            body
        });
        Some(vec![line!(format!("for {place}, {point} in utf8.codes($) do$end"), text, body)])
    }

    fn print_points(&mut self) -> Option<Vec<Statement>> {
        let shown = match self.random.below(3) {
            0 => vec![expr!(Any, "utf8.codepoint($, 1, -1)", self.characters(1)?)],
            1 => vec![expr!(Any, "utf8.len($)", self.text(2))],
            _ => vec![expr!(Any, "$:match(utf8.charpattern, $)", self.text(1), self.position())],
        };
        Some(vec![self.shown(shown)])
    }
}
