//! Coroutines: as generators, resumed by hand, ended, closed, and within one another (manual § 2.6).

use super::scope::Sort;
use super::tree::{Expression, Statement, at_least, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::COROUTINES, 6, Generator::each_that_is_yielded),
    (Features::COROUTINES, 10, Generator::resumed_by_hand),
    (Features::COROUTINES, 2, Generator::closed_coroutine),
    (Features::COROUTINES, 5, Generator::yields),
    (Features::COROUTINES.with(Features::METAMETHODS), 3, Generator::yielding_metamethod),
    (Features::COROUTINES, 1, Generator::what_runs),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::COROUTINES, 3, Generator::yielded)];

/// How often a coroutine is resumed, at most.
const RESUMED: usize = 6;

impl Generator {
    /// The function of a coroutine that is resumed here and nowhere else. An error in it is what `resume` gives.
    fn coroutine_body(&mut self, parameters: &[&str]) -> Expression {
        let count = 1 + self.random.below(3);
        let body = self.protected_body(|it| {
            for name in parameters {
                it.scope.add(name, Sort::Integer, true);
            }
            it.scope.yields = true;
            let mut body = it.statements(count);
            // Chance alone makes too few of them wait for anything.
            let waits: [StatementRule; 3] = [Self::yields, Self::yields_in_loop, Self::yielding_metamethod];
            for wait in waits {
                let wanted = it.random.once_in(2);
                body.extend(wanted.then(|| wait(it)).flatten().into_iter().flatten());
            }
            let results = it.integers(2, 1);
            body.push(line!("return $", at_least(0, results)));
            body
        });
        // What a generic `for` or a bare `resume` gives may be nil.
        let given = parameters.iter().map(|name| line!(format!("{name} = {name} or 1")));
        let body: Vec<Statement> = given.chain(body).collect();
        expr!(Function, format!("function({})$end", parameters.join(", ")), body)
    }

    fn yields_in_loop(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let name = self.fresh("i");
        let body = self.turns(3, |it| {
            it.scope.add(&name, Sort::Integer, false);
            let mut body = it.statements(1);
            let yielded = it.integers(2, 1);
            body.push(line!("coroutine.yield($)", at_least(0, yielded)));
            body
        });
        Some(vec![line!(format!("for {name} = 1, 3 do$end"), body)])
    }

    /// A generator in a `for`; whatever it gives, the loop ends.
    fn each_that_is_yielded(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 4 {
            return None;
        }
        self.spend(60);
        let outcome = self.kit("outcome");
        let (turn, first, second) = (self.fresh("n"), self.fresh("i"), self.fresh("v"));
        let function = self.coroutine_body(&[]);
        let body = self.turns(RESUMED as u64, |it| {
            it.scope.add(&turn, Sort::Integer, false);
            let mut body = vec![
                line!(format!("{turn} = {turn} + 1 if {turn} > {RESUMED} then break end")),
                line!(format!("print({turn}, type({first}), {second} == nil)")),
            ];
            body.extend(it.statements(1));
            body
        });
        let each = vec![
            line!(format!("local {turn} = 0")),
            line!(format!("for {first}, {second} in coroutine.wrap($) do$end"), function, body),
        ];
        let protected = expr!(Function, "function()$end", each);
        Some(vec![self.shown(vec![expr!(Any, format!("{outcome}(pcall($))"), protected)])])
    }

    fn resumed_by_hand(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 4 {
            return None;
        }
        self.spend(80);
        let (outcome, name) = (self.kit("outcome"), self.fresh("co"));
        let function = self.coroutine_body(&["a", "b"]);
        let mut all = vec![line!(format!("local {name} = coroutine.create($)"), function)];
        for _ in 0..1 + self.random.below(RESUMED) {
            let arguments = self.integers(2, 1);
            // Where its registers stand changes from time to time.
            let resumed = match self.random.below(4) {
                0 => format!(
                    "{outcome}({}({}, coroutine.resume, {name}, $))",
                    self.kit("higher"),
                    self.random.below(4)
                ),
                _ => format!("{outcome}(coroutine.resume({name}, $))"),
            };
            all.push(self.shown(vec![expr!(Any, resumed, at_least(1, arguments))]));
            all.push(self.shown(vec![expr!(Text, format!("coroutine.status({name})"))]));
            if self.random.once_in(3) {
                all.extend(self.statements(1));
            }
        }
        Some(all)
    }

    /// One with variables that are to be closed, which ends before it would.
    fn closed_coroutine(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 4 || !self.has(Features::CLOSING) {
            return None;
        }
        self.spend(80);
        let (outcome, name, closing) = (self.kit("outcome"), self.fresh("co"), self.kit("closing"));
        let fails = self.random.once_in(2);
        let inner = self.protected_body(|it| {
            let mut body = vec![line!(format!("local h <close> = {closing}(1)"))];
            it.scope.yields = true;
            body.extend(it.statements(1));
            body.push(line!("coroutine.yield($)", it.integer(1)));
            body.push(line!(format!("local g <close> = {closing}(2)")));
            if fails {
                body.push(line!("error(\"in a coroutine\")"));
            }
            body.push(line!("coroutine.yield($)", it.integer(1)));
            body
        });
        let function = expr!(Function, "function()$end", inner);
        let mut all = vec![line!(format!("local {name} = coroutine.create($)"), function)];
        for _ in 0..self.random.below(4) {
            all.push(self.shown(vec![expr!(Any, format!("{outcome}(coroutine.resume({name}))"))]));
        }
        for _ in 0..1 + self.random.below(2) {
            let closed = format!("{outcome}(coroutine.close({name}))");
            all.push(self.shown(vec![expr!(Text, format!("coroutine.status({name})")), expr!(Any, closed)]));
        }
        Some(all)
    }

    /// The coroutine around the place gives something up, or an error that there is none.
    fn yields(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.yields {
            let outcome = self.kit("outcome");
            let value = self.integer(0);
            let call = expr!(Any, format!("{outcome}(pcall(coroutine.yield, $))"), value);
            let is_bound = self.random.once_in(8) && self.depth == 0;
            return is_bound.then(|| vec![self.shown(vec![call])]);
        }
        let yielded = self.integers(2, 1);
        let name = self.fresh("y");
        let call = line!(format!("local {name} = coroutine.yield($) or 3"), at_least(0, yielded));
        self.scope.add(&name, Sort::Integer, true);
        Some(vec![call])
    }

    /// An operator, a comparison or an access whose metamethod waits for its answer.
    fn yielding_metamethod(&mut self) -> Option<Vec<Statement>> {
        const USES: [(&str, &str); 12] = [
            ("__lt", "m < m"),
            ("__le", "m <= m"),
            ("__lt", "m > m and 1 or 2"),
            ("__eq", "m == setmetatable({}, getmetatable(m))"),
            ("__eq", "m ~= setmetatable({}, getmetatable(m)) and 1"),
            ("__add", "m + 1"),
            ("__unm", "-m"),
            ("__concat", "1 .. m .. 2"),
            ("__len", "#m"),
            ("__index", "m.field"),
            ("__call", "(m(3))"),
            ("__newindex", "(function() m.x = 1 return 4 end)()"),
        ];
        if !self.scope.yields || !self.has(Features::METAMETHODS) {
            return None;
        }
        self.spend(30);
        let (event, used) = *self.random.pick(&USES);
        let asked = match self.random.below(3) {
            0 => "coroutine.yield",
            1 => "function() return coroutine.yield(1) end",
            _ => "function(...) local answer = coroutine.yield(select(\"#\", ...)) return answer end",
        };
        let shown = vec![expr!(Any, format!("tostring({used})"))];
        let all =
            vec![line!(format!("local m = setmetatable({{}}, {{ {event} = {asked} }})")), self.shown(shown)];
        Some(vec![line!("do$end", all)])
    }

    /// What `resume` passes, or 2.
    fn yielded(&mut self, depth: usize) -> Option<Expression> {
        if !self.scope.yields || depth == 0 {
            return None;
        }
        let value = self.integer(depth - 1);
        Some(expr!(Integer, "(coroutine.yield($) or 2)", value))
    }

    fn what_runs(&mut self) -> Option<Vec<Statement>> {
        let asked = match self.random.below(3) {
            0 => "select(2, coroutine.running())",
            1 => "coroutine.status((coroutine.running()))",
            _ => "type(coroutine.running())",
        };
        Some(vec![self.shown(vec![expr!(Any, asked)])])
    }
}
