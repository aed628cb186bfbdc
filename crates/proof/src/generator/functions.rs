//! Helper functions: parameters of all sorts, several results, variable arguments, recursion.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, at_least, expr, line};
use super::{Features, Generator, Rules, Statement, StatementRule, WORK_OF_CLOSURE, WORK_OF_HELPER};

/// A function of the script's own, known by name.
#[derive(Clone)]
pub(super) struct Helper {
    name: String,
    parameters: Vec<Sort>,
    varargs: bool,
    /// Number of results, all integers.
    results: usize,
    /// The work of a call.
    cost: u64,
}

impl Helper {
    /// One with so many parameters and one result.
    pub(super) fn of_integers(name: String, parameters: usize, cost: u64) -> Helper {
        let parameters = vec![Sort::Integer; parameters];
        Helper { name, parameters, varargs: false, results: 1, cost }
    }
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::PLAIN, 6, Generator::several_results),
    (Features::CLOSURES, 4, Generator::local_function),
    (Features::CLOSURES, 2, |it| Some(vec![it.print_results()?])),
];

impl Generator {
    /// A new helper function.
    pub(super) fn helper(&mut self) -> Vec<Statement> {
        match self.random.below(4) {
            0 | 1 if self.has(Features::RECURSION) => self.recursive_helper(),
            2 if self.has(Features::CHAINS) => self.chain_of_calls(),
            _ => vec![self.plain_helper()],
        }
    }

    fn parameters(&mut self) -> Vec<Sort> {
        let mut sorts = vec![Sort::Integer; 1 + self.random.below(3)];
        let others = [
            (Features::TEXTS, Sort::Text),
            (Features::LISTS, Sort::List),
            (Features::CLOSURES, Sort::Function(1)),
            (Features::RECORDS, Sort::Record),
        ];
        for (feature, sort) in others {
            if self.has(feature) && self.random.once_in(3) {
                sorts.push(sort);
            }
        }
        if !self.is_plain() && self.random.once_in(3) {
            sorts.insert(0, Sort::Packet);
        }
        sorts
    }

    /// Names for the parameters, known in the scope from now on.
    fn named(&mut self, sorts: &[Sort]) -> Vec<String> {
        let mut names = Vec::new();
        for sort in sorts {
            if *sort == Sort::Packet {
                self.scope.packet = true;
                names.push("pkt".to_string());
                continue;
            }
            let name = self.fresh("p");
            // Tables come from anywhere, also from load time, which packet code cannot change.
            self.scope.add(&name, *sort, matches!(sort, Sort::Integer | Sort::Text));
            names.push(name);
        }
        names
    }

    fn plain_helper(&mut self) -> Statement {
        let name = self.fresh("f");
        let parameters = self.parameters();
        let varargs = self.has(Features::VARARGS) && self.random.once_in(3);
        let results = 1 + self.random.below(3);
        let ((mut names, body), cost) = self.function_body(WORK_OF_HELPER, |it| {
            let names = it.named(&parameters);
            (it.scope.varargs, it.scope.results) = (varargs, Some(results));
            let most = if it.is_plain() { 3 } else { 6 };
            let count = it.random.below(most);
            let mut body = it.statements(count);
            let values = it.integers(results, 2);
            body.push(line!("return $", at_least(1, values)));
            (names, body)
        });
        if varargs {
            names.push("...".to_string());
        }
        self.helpers.push(Helper { name: name.clone(), parameters, varargs, results, cost });
        line!(format!("local function {name}({})$end", names.join(", ")), body)
    }

    /// A function that calls itself with a first argument that gets smaller; sometimes by a second function, sometimes as a
    /// tail call.
    fn recursive_helper(&mut self) -> Vec<Statement> {
        let (name, other) = (self.fresh("f"), self.fresh("f"));
        let mutual = self.random.once_in(4);
        let callee = if mutual { &other } else { &name };
        let (body, cost) = self.function_body(30, |it| {
            it.scope.add("d", Sort::Integer, false);
            it.scope.add("a", Sort::Integer, true);
            it.scope.add("b", Sort::Integer, true);
            it.scope.results = Some(1);
            let least = it.integer(1);
            let mut body = vec![line!("if d <= 0 then$end", vec![line!("return $", least)])];
            let count = it.random.below(3);
            body.extend(it.statements(count));
            let (first, second) = (it.integer(1), it.integer(1));
            let call = expr!(Integer, format!("{callee}(d - 1, $, $)"), first, second);
            body.push(match it.random.below(3) {
                0 => line!("return $", call),
                1 => line!("return $ + $", call, it.integer(1)),
                _ => line!("return $ ~ $", it.integer(1), call),
            });
            body
        });
        let parameters = vec![Sort::Depth, Sort::Integer, Sort::Integer];
        let helper = Helper { name: name.clone(), parameters, varargs: false, results: 1, cost: cost * 8 };
        self.helpers.push(helper);
        if !mutual {
            return vec![line!(format!("local function {name}(d, a, b)$end"), body)];
        }
        let back = vec![line!(format!("return {name}(d - 1, b, a)"))];
        vec![
            line!(format!("local {other}")),
            line!(format!("local function {name}(d, a, b)$end"), body),
            line!(format!("function {other}(d, a, b)$end"), back),
        ]
    }

    /// A call of a helper function with all its results.
    fn full_call(&mut self, depth: usize) -> Option<(Expression, usize)> {
        let packet = self.scope.packet;
        let usable = |helper: &&Helper| {
            self.room(helper.cost) && (packet || !helper.parameters.contains(&Sort::Packet))
        };
        let helpers: Vec<Helper> = self.helpers.iter().filter(usable).cloned().collect();
        if helpers.is_empty() {
            return None;
        }
        let helper = self.random.pick(&helpers).clone();
        self.spend(helper.cost);
        let mut arguments: Vec<Expression> =
            helper.parameters.iter().map(|sort| self.value(*sort, depth.min(1))).collect();
        let least = arguments.len();
        if helper.varargs {
            let more = self.random.below(4);
            arguments.extend((0..more).map(|_| self.integer(0)));
        }
        let call = expr!(Integer, format!("{}($)", helper.name), at_least(least, arguments));
        Some((call, helper.results))
    }

    /// A call of a helper function: its first result.
    pub(super) fn call(&mut self, depth: usize) -> Option<Expression> {
        let (call, _) = self.full_call(depth)?;
        Some(expr!(Integer, "($)", call))
    }

    fn several_results(&mut self) -> Option<Vec<Statement>> {
        let (call, results) = self.full_call(1)?;
        let names: Vec<String> = (0..results).map(|_| self.fresh("v")).collect();
        for name in &names {
            self.scope.add(name, Sort::Integer, true);
        }
        Some(vec![line!(format!("local {} = $", names.join(", ")), call)])
    }

    /// All results of a call, behind other arguments.
    fn print_results(&mut self) -> Option<Statement> {
        let first = self.printable(1);
        let (call, _) = self.full_call(1)?;
        Some(self.shown(vec![first, call]))
    }

    /// A function value of so many integers, whose calls may cost so much.
    pub(super) fn function(&mut self, arity: usize, cost: u64) -> Expression {
        let known = self.variable(Sort::Function(arity));
        if let Some(name) = known.filter(|_| cost >= WORK_OF_CLOSURE && self.random.once_in(2)) {
            return Expression::leaf(ExpressionKind::Function, name);
        }
        if self.random.once_in(6) {
            return Expression::leaf(
                ExpressionKind::Function,
                if arity == 1 { "math.abs" } else { "math.max" },
            );
        }
        self.closure(arity, cost.min(WORK_OF_CLOSURE))
    }

    /// A function expression.
    pub(super) fn closure(&mut self, arity: usize, cost: u64) -> Expression {
        let (names, body) = self.closure_body(arity, cost);
        expr!(Function, format!("function({})$end", names.join(", ")), body)
    }

    /// Parameters and body of a function of integers.
    fn closure_body(&mut self, arity: usize, cost: u64) -> (Vec<String>, Vec<Statement>) {
        self.spend(3);
        let (written, _) = self.function_body(cost.saturating_sub(10), |it| {
            let names: Vec<String> = (0..arity).map(|_| it.fresh("x")).collect();
            for name in &names {
                it.scope.add(name, Sort::Integer, true);
            }
            let count = it.random.below(2);
            let mut body = it.statements(count);
            let result = it.integer(2);
            body.push(line!("return $", result));
            (names, body)
        });
        written
    }

    /// A function of the block it is in.
    fn local_function(&mut self) -> Option<Vec<Statement>> {
        if self.depth > 3 || !self.room(10) {
            return None;
        }
        let (name, arity) = (self.fresh("g"), 1 + self.random.below(2));
        let (names, body) = self.closure_body(arity, WORK_OF_CLOSURE);
        self.scope.add(&name, Sort::Function(arity), false);
        Some(vec![line!(format!("local function {name}({})$end", names.join(", ")), body)])
    }
}
