//! Generic `for`: `ipairs`, `pairs`, iterators with and without state, closing values (manual § 3.3.5).

use super::scope::Sort;
use super::tree::{Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::LISTS, 4, Generator::each_of_list),
    (Features::ITERATORS, 3, Generator::stateless),
    (Features::ITERATORS, 3, Generator::with_state),
    (Features::ITERATORS, 2, Generator::closed_at_end),
];

impl Generator {
    /// Names for a loop's variables and its body, which is entered 12 times at most.
    fn generic_body(&mut self, turns: u64) -> (String, String, Vec<Statement>) {
        let (first, second) = (self.fresh("i"), self.fresh("v"));
        let mut body = self.iteration(turns, |it| {
            it.scope.add(&first, Sort::Integer, false);
            it.scope.add(&second, Sort::Integer, true);
        });
        // A body may make the list longer.
        body.insert(0, line!(format!("if {first} > {turns} then break end")));
        (first, second, body)
    }

    fn each_of_list(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let list = self.list(1);
        let (first, second, body) = self.generic_body(8);
        Some(match self.random.below(4) {
            // The sum does not depend on the order.
            0 => {
                let sum = self.fresh("v");
                self.scope.add(&sum, Sort::Integer, true);
                let step = vec![line!(format!("{sum} = {sum} + (tonumber(i) or 7) * v"))];
                vec![line!(format!("local {sum} = 0")), line!("for i, v in pairs($) do$end", list, step)]
            }
            _ => vec![line!(format!("for {first}, {second} in ipairs($) do$end"), list, body)],
        })
    }

    /// A function of the limit and the last value.
    fn stateless(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (limit, start) = (self.small(7), self.small(3));
        let function =
            vec![line!("i = i + 1"), line!("if i <= limit then$end", vec![line!("return i, i * i")])];
        let (first, second, body) = self.generic_body(8);
        let function = expr!(Function, "function(limit, i)$end", function);
        Some(vec![line!(format!("for {first}, {second} in $, $, $ do$end"), function, limit, start, body)])
    }

    /// A closure that counts down.
    fn with_state(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (name, start) = (self.fresh("down"), self.small(7));
        let inner = vec![
            line!("from = from - 1"),
            line!("if from >= 0 then$end", vec![line!("return from, from ~ by")]),
        ];
        let by = self.integer(1);
        let maker = vec![line!("return $", expr!(Function, "function()$end", inner))];
        let (first, second, body) = self.generic_body(8);
        Some(vec![
            line!(format!("local function {name}(from, by)$end"), maker),
            line!(format!("for {first}, {second} in {name}($, $) do$end"), start, by, body),
        ])
    }

    /// A fourth value is closed however the loop ends.
    fn closed_at_end(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 8 {
            return None;
        }
        let closing = self.closing();
        let list = self.list(1);
        let (first, second, body) = self.generic_body(8);
        let label = format!("\"loop {first}\"");
        let triple = line!(format!("local step, state, start = ipairs($)"), list);
        let each =
            line!(format!("for {first}, {second} in step, state, start, {closing}({label}) do$end"), body);
        Some(vec![line!("do$end", vec![triple, each])])
    }
}
