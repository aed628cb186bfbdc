//! Calls of flow tables in the middle of handlers: what is known before, and used afterwards.

use super::flows::FlowTable;
use super::scope::Sort;
use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule, WORK_OF_HELPER};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::FLOWS, 6, Generator::change_shared),
    (Features::FLOWS, 5, Generator::keep_answer),
    (Features::FLOWS, 8, Generator::values_around_call),
    (Features::FLOWS, 2, Generator::leave_by_answer),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::FLOWS, 1, |it, _| it.answer())];

/// Calls of a handler at most: a packet goes through 33 programs (MAX_TAIL_CALL_CNT, include/linux/bpf.h).
const MOST: u64 = 12;

impl Generator {
    /// A table that can be called here.
    fn callable(&mut self) -> Option<FlowTable> {
        if !self.scope.handling || !self.scope.packet || !self.room(WORK_OF_HELPER) {
            return None;
        }
        if self.flows.is_empty() || self.calls + self.factor > MOST {
            return None;
        }
        self.calls += self.factor;
        self.spend(WORK_OF_HELPER);
        Some(self.random.pick(&self.flows).clone())
    }

    /// A call's verdict, or another number where there is none.
    fn answer(&mut self) -> Option<Expression> {
        let FlowTable { name, may_be_nil, .. } = self.callable()?;
        Some(match may_be_nil {
            true => expr!(Integer, format!("({name}(pkt) or $)"), self.constant()),
            false => expr!(Integer, format!("({name}(pkt))")),
        })
    }

    fn keep_answer(&mut self) -> Option<Vec<Statement>> {
        let (answer, name) = (self.answer()?, self.fresh("v"));
        self.scope.add(&name, Sort::Integer, true);
        Some(vec![line!(format!("local {name} = $"), answer)])
    }

    /// What was read before is what it was; what is read afterwards is what the function has made of it.
    fn values_around_call(&mut self) -> Option<Vec<Statement>> {
        let answer = self.answer()?;
        let most = if self.random.once_in(6) { 24 } else { 4 };
        let count = 1 + self.random.below(most);
        self.spend(12 * count as u64);
        let mut body = Vec::new();
        let mut after = Vec::new();
        for number in 1..=count {
            let read = self.changeable();
            body.push(line!(format!("local before{number} = $"), read.clone()));
            after.push(expr!(Any, format!("before{number}")));
            after.push(read);
        }
        body.extend(self.change_shared().filter(|_| self.random.once_in(2)).unwrap_or_default());
        body.push(line!("local verdict = $", answer));
        body.push(self.shown(after));
        body.extend(self.change_shared().unwrap_or_default());
        let name = self.fresh("v");
        self.scope.add(&name, Sort::Integer, true);
        body.push(line!(format!("{name} = verdict")));
        Some(vec![line!(format!("local {name}")), line!("do$end", body)])
    }

    fn leave_by_answer(&mut self) -> Option<Vec<Statement>> {
        if self.scope.results.is_some() {
            return None;
        }
        let (answer, condition) = (self.answer()?, self.condition(1));
        Some(vec![line!("if $ then return $ end", condition, answer)])
    }

    /// The verdict with which a handler ends, where that is a table's.
    pub(super) fn last_answer(&mut self) -> Option<Statement> {
        if !self.random.once_in(4) {
            return None;
        }
        let FlowTable { name, .. } = self.callable()?;
        Some(line!(format!("return {name}(pkt)")))
    }

    /// Attached like functions: those whose functions fail, and others now and then.
    pub(super) fn attached_tables(&mut self, attach: &[&'static str]) -> Vec<Statement> {
        let mut all = Vec::new();
        for FlowTable { name, calm, .. } in self.flows.clone() {
            if calm && !self.random.once_in(4) {
                continue;
            }
            let attach = match self.random.once_in(3) {
                true => *self.random.pick(attach),
                false => attach[0],
            };
            all.push(line!(format!("{attach}({name})")));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Features, program};
    use crate::random::Random;

    #[test]
    fn handlers_call_tables_and_flows_have_functions() {
        let text = |seed| program(&mut Random::new(seed), Features::FLOWS).text();
        let all: Vec<String> = (0..100).map(text).filter(|text| text.contains("flow.new")).collect();
        let with = |part: &str| all.iter().filter(|text| text.contains(part)).count();
        assert!(all.len() > 50, "{} programs have flow tables", all.len());
        assert!(with("(pkt) or") + with("verdict = (flows") > all.len() / 4);
        assert!(with(":set(") > all.len() / 2 && with("[==[") > all.len() / 5);
    }
}
