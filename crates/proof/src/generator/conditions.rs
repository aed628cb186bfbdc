//! Boolean expressions.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, expr};
use super::{ExpressionRule, Features, Generator, Rules};

const CONDITIONS: Rules<ExpressionRule> = &[
    (Features::PLAIN, 24, |it, depth| it.comparison(depth.min(1))),
    (Features::PLAIN, 4, |it, depth| {
        Some(expr!(Boolean, "($ and $)", it.condition(depth - 1), it.condition(depth - 1)))
    }),
    (Features::PLAIN, 4, |it, depth| {
        Some(expr!(Boolean, "($ or $)", it.condition(depth - 1), it.condition(depth - 1)))
    }),
    (Features::PLAIN, 4, |it, depth| Some(expr!(Boolean, "(not $)", it.condition(depth - 1)))),
    (Features::PLAIN, 4, |it, _| {
        Some(Expression::leaf(ExpressionKind::Boolean, it.variable(Sort::Boolean)?))
    }),
    (Features::PLAIN, 4, |it, _| it.header_present()),
    (Features::PLAIN, 3, |it, _| Some(expr!(Boolean, "math.ult($, $)", it.integer(1), it.integer(1)))),
    (Features::TEXTS, 8, Generator::comparison_of_texts),
    (Features::TEXTS, 2, Generator::mixed_equality),
    (Features::LISTS, 2, |it, _| {
        let list = it.variable(Sort::List)?;
        Some(expr!(Boolean, format!("(#{list} > $)"), it.small(7)))
    }),
    (Features::METAMETHODS, 4, |it, _| it.comparison_of_objects()),
];

impl Generator {
    /// An expression whose value is a boolean.
    pub(super) fn condition(&mut self, depth: usize) -> Expression {
        self.spend(2);
        let rule = if depth > 0 && self.room(8) && !self.loading() {
            self.chosen(&[CONDITIONS, super::floats::CONDITIONS, super::operands::CONDITIONS])
        } else {
            None
        };
        match rule.and_then(|rule| rule(self, depth)) {
            Some(expression) => expression,
            None => self.compared(0),
        }
    }

    fn comparison(&mut self, depth: usize) -> Option<Expression> {
        Some(self.compared(depth))
    }

    fn compared(&mut self, depth: usize) -> Expression {
        let operator = self.one_of(&["<", "<=", ">", ">=", "==", "~="]);
        let (left, right) = (self.integer(depth), self.integer(depth));
        expr!(Boolean, format!("($ {operator} $)"), left, right)
    }

    fn comparison_of_texts(&mut self, _: usize) -> Option<Expression> {
        let operator = self.one_of(&["<", "<=", ">", ">=", "==", "~="]);
        let (left, right) = (self.text(1), self.text(1));
        Some(expr!(Boolean, format!("($ {operator} $)"), left, right))
    }

    /// Values of different types are never equal (manual § 3.4.4).
    fn mixed_equality(&mut self, _: usize) -> Option<Expression> {
        let operator = self.one_of(&["==", "~="]);
        let sorts = [Sort::Integer, Sort::Text, Sort::Boolean];
        let (left, right) = (*self.random.pick(&sorts), *self.random.pick(&sorts));
        let (left, right) = (self.value(left, 1), self.value(right, 1));
        Some(expr!(Boolean, format!("($ {operator} $)"), left, right))
    }
}
