//! Chains of functions that call one another, each with many local variables that are used behind the calls.

use super::functions::Helper;
use super::scope::Sort;
use super::tree::{Statement, at_least, expr, line};
use super::{Features, Generator};

/// Calls within one another, and variables of each function, at most.
const MOST_CALLS: usize = 12;
const MOST_VARIABLES: usize = 60;

impl Generator {
    /// Functions of which the last one calls the one before, and so on; some of them in the middle of an expression, by a protected
    /// call, or from several places.
    pub(super) fn chain_of_calls(&mut self) -> Vec<Statement> {
        let depth = 2 + self.random.below(MOST_CALLS - 1);
        let mut all = Vec::new();
        let (mut callee, mut cost) = (None, 0);
        for _ in 0..depth {
            let (name, count) = (self.fresh("c"), 1 + self.random.below(MOST_VARIABLES));
            all.push(self.link(&name, count, callee.as_deref()));
            // Two calls at most in each, but only one of those that go on.
            cost += 5 * count as u64 + 20;
            callee = Some(name);
        }
        if let Some(name) = callee {
            self.helpers.push(Helper::of_integers(name, 2, cost));
        }
        all
    }

    /// A function with so many variables around the call of another one.
    fn link(&mut self, name: &str, count: usize, callee: Option<&str>) -> Statement {
        let (body, _) = self.function_body(5 * count as u64 + 20, |it| {
            it.scope.add("a", Sort::Integer, true);
            it.scope.add("b", Sort::Integer, true);
            it.scope.results = Some(1);
            let mut body = Vec::new();
            let names: Vec<String> = (0..count).map(|_| it.fresh("v")).collect();
            for name in &names {
                let depth = usize::from(it.random.once_in(4));
                let value = it.integer(depth);
                body.push(line!(format!("local {name} = $"), value));
                it.scope.add(name, Sort::Integer, true);
            }
            let result = it.fresh("r");
            body.push(match callee {
                None => line!(format!("local {result} = $"), it.integer(2)),
                Some(callee) => it.call_within(&result, callee),
            });
            it.scope.add(&result, Sort::Integer, true);
            let more = it.random.below(2);
            body.extend(it.statements(more));
            let (used, operator) = (names.join(" ~ "), it.one_of(&["+", "-", "*"]));
            body.push(line!(format!("return {result} {operator} ({used})")));
            body
        });
        line!(format!("local function {name}(a, b)$end"), body)
    }

    fn call_within(&mut self, result: &str, callee: &str) -> Statement {
        let arguments = vec![self.integer(1), self.integer(0)];
        let call = expr!(Integer, format!("{callee}($)"), at_least(2, arguments));
        match self.random.below(4) {
            0 => line!(format!("local {result} = $ ~ $"), self.integer(1), call),
            1 if self.has(Features::ERRORS) => {
                let caught = format!("local {result} = select(2, pcall({callee}, a, $))");
                let number = format!("{result} = math.type({result}) == \"integer\" and {result} or 0");
                line!(format!("{caught} {number}"), self.integer(1))
            }
            _ => line!(format!("local {result} = $"), call),
        }
    }
}
