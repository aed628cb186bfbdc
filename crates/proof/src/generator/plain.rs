//! Statements on integers and booleans: variables, assignments, `print`, branches.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Part, Statement, at_least, expr, line, optional};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::PLAIN, 16, |it| Some(it.local())),
    (Features::PLAIN, 12, Generator::assignment),
    (Features::PLAIN, 12, |it| Some(vec![it.print()])),
    (Features::PLAIN, 12, Generator::branch),
    (Features::PLAIN, 3, Generator::early_return),
    (Features::CLOSURES, 3, Generator::exchange),
    (Features::CLOSING, 2, Generator::constant_variable),
];

impl Generator {
    /// A new variable.
    pub(super) fn local(&mut self) -> Vec<Statement> {
        if self.random.once_in(5) {
            let (name, value) = (self.fresh("b"), self.condition(2));
            self.scope.add(&name, Sort::Boolean, true);
            return vec![line!(format!("local {name} = $"), value)];
        }
        let value = self.integer(3);
        let name = self.fresh("v");
        self.scope.add(&name, Sort::Integer, true);
        vec![line!(format!("local {name} = $"), value)]
    }

    fn assignment(&mut self) -> Option<Vec<Statement>> {
        if self.random.once_in(6) {
            let (name, value) = (self.assignable(Sort::Boolean)?, self.condition(2));
            return Some(vec![line!(format!("{name} = $"), value)]);
        }
        let name = self.assignable(Sort::Integer)?;
        if self.random.once_in(3) {
            return Some(vec![line!(format!("{name} = {name} + $"), self.integer(1))]);
        }
        Some(vec![line!(format!("{name} = $"), self.integer(3))])
    }

    /// Assigns several variables at once: all values are computed first (manual § 3.3.3).
    fn exchange(&mut self) -> Option<Vec<Statement>> {
        let (first, second) = (self.assignable(Sort::Integer)?, self.assignable(Sort::Integer)?);
        if first == second {
            return None;
        }
        Some(vec![line!(format!("{first}, {second} = $, $"), self.integer(1), self.integer(1))])
    }

    fn constant_variable(&mut self) -> Option<Vec<Statement>> {
        let (name, value) = (self.fresh("k"), self.integer(2));
        self.scope.add(&name, Sort::Integer, false);
        Some(vec![line!(format!("local {name} <const> = $"), value)])
    }

    pub(super) fn print(&mut self) -> Statement {
        let count = 1 + self.random.below(3);
        let arguments: Vec<Expression> = (0..count).map(|_| self.printable(2)).collect();
        self.shown(arguments)
    }

    /// A statement that prints, unless that would be too many lines.
    pub(super) fn shown(&mut self, arguments: Vec<Expression>) -> Statement {
        self.spend(10);
        if self.factor <= 16 {
            return line!("print($)", arguments);
        }
        line!("local _ = $", at_least(1, arguments))
    }

    fn branch(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let condition = match self.random.once_in(12) {
            true => expr!(Boolean, self.one_of(&["true", "not nil", "1", "false"])),
            false => self.condition(2),
        };
        let then = self.body(3);
        let other = match self.random.once_in(4) {
            true => {
                let (condition, body) = (self.condition(2), self.body(2));
                optional!("elseif $ then$", condition, body)
            }
            false => Part::Word(String::new()),
        };
        let otherwise = match self.random.below(8) {
            0..=3 => optional!("else$", self.body(2)),
            4 => optional!("else$", Vec::<Statement>::new()),
            _ => Part::Word(String::new()),
        };
        Some(vec![line!("if $ then$$$end", condition, then, other, otherwise)])
    }

    /// Leaves the function on a condition, somewhere in its body.
    fn early_return(&mut self) -> Option<Vec<Statement>> {
        if self.depth == 0 || !(self.scope.packet || self.scope.results.is_some()) {
            return None;
        }
        let condition = self.condition(1);
        let back = self.returned();
        Some(vec![line!("if $ then$end", condition, vec![back])])
    }

    /// A `return` as the function at this place must have it.
    pub(super) fn returned(&mut self) -> Statement {
        if self.calm {
            return self.calm_return();
        }
        match self.scope.results {
            None => {
                // Booleans are verdicts of filters only.
                let verdict = match self.random.below(12) {
                    10 => self.condition(1),
                    number => Expression::leaf(ExpressionKind::Integer, (number % 5).to_string()),
                };
                line!("return $", verdict)
            }
            Some(count) => {
                let results: Vec<Expression> = (0..count).map(|_| self.integer(1)).collect();
                line!("return $", at_least(count, results))
            }
        }
    }

    /// A row of integer expressions.
    pub(super) fn integers(&mut self, count: usize, depth: usize) -> Vec<Expression> {
        (0..count).map(|_| self.integer(depth)).collect()
    }

    /// A small number, 0 … `mask`.
    pub(super) fn small(&mut self, mask: usize) -> Expression {
        match self.random.below(3) {
            0 => Expression::leaf(ExpressionKind::Integer, self.random.below(mask + 1).to_string()),
            _ => expr!(Integer, format!("($ & {mask})"), self.integer(1)),
        }
    }
}
