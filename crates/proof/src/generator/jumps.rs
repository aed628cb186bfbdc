//! `break` and `goto`: out of an iteration, out of loops, backwards.

use super::tree::line;
use super::{Features, Generator, Rules, Statement, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::PLAIN, 5, Generator::leave),
    (Features::GOTO, 4, Generator::leave_all),
    (Features::GOTO, 3, Generator::again),
];

impl Generator {
    /// Out of the iteration, or out of the loop.
    fn leave(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.looping {
            return None;
        }
        let condition = self.condition(1);
        let how = match &self.scope.label {
            Some(label) if self.random.once_in(2) => format!("goto {label}"),
            _ => "break".to_string(),
        };
        Some(vec![line!("if $ then$end", condition, vec![line!(how)])])
    }

    /// Two loops, left together.
    fn leave_all(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.depth > 1 {
            return None;
        }
        let (outer, inner, done) = (self.fresh("i"), self.fresh("i"), self.fresh("done"));
        let body = self.turns(16, |it| {
            it.scope.add(&outer, super::Sort::Integer, false);
            it.scope.add(&inner, super::Sort::Integer, false);
            let mut body = it.statements(1);
            let condition = it.condition(1);
            body.push(line!("if $ then$end", condition, vec![line!(format!("goto {done}"))]));
            body.extend(it.statements(1));
            body
        });
        let inner = line!(format!("for {inner} = 1, 4 do$end"), body);
        let both = line!(format!("for {outer} = 1, $ do$end"), self.small(3), vec![inner]);
        Some(vec![line!("do$end", vec![both, line!(format!("::{done}::"))])])
    }

    /// A loop made of `goto`.
    fn again(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (count, label, most) = (self.fresh("c"), self.fresh("again"), 1 + self.random.below(6));
        let mut body = vec![line!(format!("local {count} = 0")), line!(format!("::{label}::"))];
        let inner = self.turns(most as u64, |it| {
            it.scope.add(&count, super::Sort::Integer, false);
            it.statements(2)
        });
        body.push(line!("do$end", inner));
        body.push(line!(format!("{count} = {count} + 1")));
        body.push(line!(format!("if {count} < {most} then$end"), vec![line!(format!("goto {label}"))]));
        Some(vec![line!("do$end", body)])
    }
}
