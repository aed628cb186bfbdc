//! Loops that count: numeric `for`, `while`, `repeat`.

use super::scope::Sort;
use super::tree::{Part, Statement, expr, line, optional};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::PLAIN, 8, Generator::numeric_for),
    (Features::PLAIN, 4, Generator::while_loop),
    (Features::PLAIN, 4, Generator::repeat_loop),
    (Features::EXTREMES, 3, Generator::extreme_for),
];

impl Generator {
    /// The body of a loop of at most `turns` turns: what `goto` skips, and its label.
    pub(super) fn iteration(&mut self, turns: u64, add: impl FnOnce(&mut Self)) -> Vec<Statement> {
        let label = self.fresh("next");
        let plain = self.is_plain() || self.random.once_in(3);
        let body = self.turns(turns, |it| {
            it.scope.label = plain.then(|| label.clone());
            it.scope.looping = true;
            add(it);
            let count = 1 + it.random.below(if it.is_plain() { 2 } else { 3 });
            it.statements(count)
        });
        if plain { vec![line!("do$end", body), line!(format!("::{label}::"))] } else { body }
    }

    fn numeric_for(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (from, to, turns) = match self.random.below(3) {
            0 => (self.random.below(4).to_string().into(), self.random.below(9).to_string().into(), 9),
            1 => (Part::from("1"), Part::from(expr!(Integer, "($ & 7)", self.integer(1))), 7),
            _ => (
                Part::from(expr!(Integer, "($ & 15)", self.integer(1))),
                Part::from(expr!(Integer, "($ & 7)", self.integer(1))),
                8,
            ),
        };
        let step = match self.random.below(8) {
            0..=3 => Part::Word(String::new()),
            4 => optional!(", -1"),
            5 => optional!(", 3"),
            6 => optional!(", -2"),
            // The other steps may be 0, which is an error.
            _ if self.calm => optional!(", 2"),
            _ => optional!(", $", expr!(Integer, "($ & 3)", self.integer(1))),
        };
        let name = self.fresh("i");
        let body = self.iteration(turns, |it| it.scope.add(&name, Sort::Integer, false));
        Some(vec![line!(format!("for {name} = $, $$ do$end"), from, to, step, body)])
    }

    /// Loops at the ends of the integers: no overflow, never another turn than the limits say (manual § 3.3.5).
    fn extreme_for(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let small = self.small(3);
        let (from, to, step) = match self.random.below(8) {
            0 => (expr!(Integer, "math.maxinteger - $", small), "math.maxinteger", ""),
            1 => (expr!(Integer, "math.mininteger + $", small), "math.mininteger", ", -1"),
            2 => (small, "math.maxinteger", ", math.maxinteger // 3"),
            3 => (small, "math.mininteger", ", math.mininteger // 2"),
            4 => (expr!(Integer, "math.maxinteger - $", small), "math.maxinteger", ", 2"),
            5 => (expr!(Integer, "math.mininteger + $", small), "math.maxinteger", ", math.maxinteger"),
            6 => (expr!(Integer, "math.maxinteger - $", small), "math.mininteger", ", math.mininteger"),
            _ => (small, "math.mininteger", ""),
        };
        let name = self.fresh("i");
        let body = self.iteration(4, |it| it.scope.add(&name, Sort::Integer, false));
        Some(vec![line!(format!("for {name} = $, {to}{step} do$end"), from, body)])
    }

    fn while_loop(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (name, most) = (self.fresh("c"), 1 + self.random.below(12));
        let condition = self.turns(most as u64, |it| it.condition(1));
        let mut body = vec![line!(format!("{name} = {name} + 1"))];
        body.extend(self.iteration(most as u64, |it| it.scope.add(&name, Sort::Integer, false)));
        let head = format!("while {name} < {most}$ do$end");
        Some(vec![line!(format!("local {name} = 0")), line!(head, optional!(" and $", condition), body)])
    }

    fn repeat_loop(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (name, most) = (self.fresh("c"), 1 + self.random.below(9));
        let condition = self.turns(most as u64, |it| it.condition(1));
        let mut body = vec![line!(format!("{name} = {name} + 1"))];
        body.extend(self.iteration(most as u64, |it| it.scope.add(&name, Sort::Integer, false)));
        let tail = format!("repeat$until {name} >= {most}$");
        Some(vec![line!(format!("local {name} = 0")), line!(tail, body, optional!(" or $", condition))])
    }
}
