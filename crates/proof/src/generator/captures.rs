//! Variables that different functions capture on different paths to one place: each path's function reads or assigns them, and so
//! does what follows.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Part, Statement, expr, line, optional};
use super::{Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::CAPTURES, 6, Generator::function_of_each_path),
    (Features::CAPTURES, 6, Generator::captured_in_either),
    (Features::CAPTURES, 4, Generator::captured_in_turns),
    (Features::CAPTURES, 4, Generator::assigned_in_branches),
    (Features::CAPTURES, 3, Generator::object_of_each_path),
    (Features::CAPTURES, 3, Generator::chosen_captures),
];

impl Generator {
    /// A variable for functions to capture, and the statements that make it.
    fn variable_to_capture(&mut self) -> (String, Vec<Statement>) {
        if let Some(name) = self.assignable(Sort::Integer).filter(|_| self.random.once_in(3)) {
            return (name, Vec::new());
        }
        let (name, value) = (self.fresh("v"), self.integer(2));
        self.scope.add(&name, Sort::Integer, true);
        (name.clone(), vec![line!(format!("local {name} = $"), value)])
    }

    /// A function of one integer that reads the variable, and assigns it more often than not.
    fn capturing(&mut self, name: &str) -> Expression {
        let x = self.fresh("x");
        let (body, _) = self.function_body(WORK_OF_CLOSURE, |it| {
            it.scope.add(&x, Sort::Integer, true);
            let value = it.integer(1);
            let assign = match it.random.below(3) {
                0 => line!(format!("{name} = {name} + {x}")),
                1 => line!(format!("{name} = $ - {name}"), value),
                _ => line!(format!("{name} = {x} ~ $"), value),
            };
            let mut body = match it.random.below(4) {
                0 => Vec::new(),
                1 => vec![line!("if $ then$end", it.condition(1), vec![assign])],
                _ => vec![assign],
            };
            body.push(match it.random.once_in(2) {
                true => line!(format!("return {name}")),
                false => line!(format!("return {name} - $"), it.integer(1)),
            });
            body
        });
        expr!(Function, format!("function({x})$end"), body)
    }

    /// `print` of what such a function gives, then of its variable.
    fn called(&mut self, call: String, name: &str) -> Statement {
        self.spend(WORK_OF_CLOSURE);
        let argument = self.integer(1);
        self.shown(vec![
            expr!(Any, format!("{call}$)"), argument),
            Expression::leaf(ExpressionKind::Integer, name),
        ])
    }

    /// What follows may assign the variable before anything reads it: only a function of some path sees that.
    fn assigned_again(&mut self, name: &str) -> Option<Statement> {
        self.random.once_in(2).then(|| line!(format!("{name} = $"), self.integer(1)))
    }

    /// Whether there is room for functions on several paths.
    fn may_capture(&self) -> bool {
        self.may_nest() && self.room(4 * WORK_OF_CLOSURE)
    }

    /// `if … elseif … else … end` with these bodies, the second and the last being optional.
    fn paths(&mut self, first: Vec<Statement>, second: Vec<Statement>, last: Vec<Statement>) -> Statement {
        let (condition, other) = (self.condition(2), self.condition(1));
        let second = match self.random.once_in(2) {
            true => optional!("elseif $ then$", other, second),
            false => Part::Word(String::new()),
        };
        let last = match self.random.below(4) {
            0 => Part::Word(String::new()),
            _ => optional!("else$", last),
        };
        line!("if $ then$$$end", condition, first, second, last)
    }

    /// One variable holds another function on each path.
    fn function_of_each_path(&mut self) -> Option<Vec<Statement>> {
        if !self.may_capture() {
            return None;
        }
        let (name, mut all) = self.variable_to_capture();
        let g = self.fresh("g");
        all.push(match self.random.once_in(3) {
            true => line!(format!("local {g} = $"), self.capturing(&name)),
            false => line!(format!("local {g}")),
        });
        let mut bodies = (0..3).map(|_| {
            let mut body = self.block(|it| it.statements(1));
            body.truncate(usize::from(self.random.once_in(2)));
            body.push(line!(format!("{g} = $"), self.capturing(&name)));
            if self.random.once_in(3) {
                body.push(self.called(format!("{g}("), &name));
            }
            body
        });
        let bodies = [bodies.next()?, bodies.next()?, bodies.next()?];
        let [first, second, last] = bodies;
        all.push(self.paths(first, second, last));
        all.extend(self.assigned_again(&name));
        all.push(self.called(format!("{g} and {g}("), &name));
        Some(all)
    }

    /// Each path has a function of its own, which ends with the path; the variable goes on.
    fn captured_in_either(&mut self) -> Option<Vec<Statement>> {
        if !self.may_capture() {
            return None;
        }
        let (name, mut all) = self.variable_to_capture();
        let mut bodies = (0..3).map(|_| {
            self.block(|it| {
                let g = it.fresh("g");
                let mut body = vec![line!(format!("local {g} = $"), it.capturing(&name))];
                body.extend(it.statements(1));
                body.push(it.called(format!("{g}("), &name));
                body
            })
        });
        let [first, second, last] = [bodies.next()?, bodies.next()?, bodies.next()?];
        all.push(self.paths(first, second, last));
        all.push(self.shown(vec![Expression::leaf(ExpressionKind::Integer, name)]));
        Some(all)
    }

    /// A loop is left, or goes on, with one function or another.
    fn captured_in_turns(&mut self) -> Option<Vec<Statement>> {
        if !self.may_capture() || !self.room(8 * WORK_OF_CLOSURE) {
            return None;
        }
        let (name, mut all) = self.variable_to_capture();
        let (g, i) = (self.fresh("g"), self.fresh("i"));
        let leave = |it: &mut Self| if it.random.once_in(2) { vec![line!("break")] } else { Vec::new() };
        let body = self.turns(3, |it| {
            it.scope.add(&i, Sort::Integer, false);
            let mut bodies = (0..3).map(|_| {
                let mut body = vec![line!(format!("{g} = $"), it.capturing(&name))];
                body.extend(leave(it));
                body
            });
            let [first, second, last] = [bodies.next()?, bodies.next()?, bodies.next()?];
            let mut body = it.statements(1);
            body.push(it.paths(first, second, last));
            Some(body)
        })?;
        all.push(line!(format!("local {g}")));
        all.push(line!(format!("for {i} = 1, 3 do$end"), body));
        all.extend(self.assigned_again(&name));
        all.push(self.called(format!("{g} and {g}("), &name));
        Some(all)
    }

    /// Functions within functions, the innermost of which assigns the variables of all others on some of its paths.
    fn assigned_in_branches(&mut self) -> Option<Vec<Statement>> {
        if !self.may_capture() {
            return None;
        }
        let (name, mut all) = self.variable_to_capture();
        let (outer, inner, own) = (self.fresh("g"), self.fresh("g"), self.fresh("w"));
        let (body, cost) = self.function_body(3 * WORK_OF_CLOSURE, |it| {
            it.scope.add("a", Sort::Integer, true);
            it.scope.add(&own, Sort::Integer, true);
            let start = it.integer(1);
            let assignments = it.function_body(WORK_OF_CLOSURE, |it| {
                it.scope.add("b", Sort::Integer, true);
                let assign = |it: &mut Self| {
                    let target = it.random.pick(&[own.as_str(), name.as_str(), "a", "b"]).to_string();
                    vec![line!(format!("{target} = $"), it.integer(2))]
                };
                let (first, second, last) = (assign(it), assign(it), assign(it));
                vec![it.paths(first, second, last), line!(format!("return {own} + b"))]
            });
            let (first, second) = (it.integer(1), it.integer(1));
            vec![
                line!(format!("local {own} = $"), start),
                line!(format!("local function {inner}(b)$end"), assignments.0),
                line!(format!("local r = {inner}($) - {inner}($)"), first, second),
                line!(format!("return r + {own} + a")),
            ]
        });
        self.spend(2 * cost);
        all.push(line!(format!("local function {outer}(a)$end"), body));
        all.push(self.called(format!("{outer}("), &name));
        all.push(self.called(format!("{outer}("), &name));
        Some(all)
    }

    /// A table with a function and a number, another one on each path.
    fn object_of_each_path(&mut self) -> Option<Vec<Statement>> {
        if !self.may_capture() {
            return None;
        }
        let (name, mut all) = self.variable_to_capture();
        let o = self.fresh("o");
        let mut bodies = (0..3).map(|_| {
            let (function, number) = (self.capturing(&name), self.integer(1));
            vec![line!(format!("{o} = {{ n = $, f = $ }}"), number, function)]
        });
        let [first, second, last] = [bodies.next()?, bodies.next()?, bodies.next()?];
        let start = self.integer(0);
        all.push(line!(format!("local {o} = {{ n = $, f = math.abs }}"), start));
        all.push(self.paths(first, second, last));
        all.push(line!(format!("{o}.n = {o}.n + 1")));
        all.extend(self.assigned_again(&name));
        all.push(self.called(format!("{o}.n, {o}.f("), &name));
        Some(all)
    }

    /// One function or another by `and` and `or`.
    fn chosen_captures(&mut self) -> Option<Vec<Statement>> {
        if !self.may_capture() {
            return None;
        }
        let (name, mut all) = self.variable_to_capture();
        let (g, condition) = (self.fresh("g"), self.condition(1));
        let one = |it: &mut Self| match it.random.once_in(4) {
            true => Expression::leaf(ExpressionKind::Function, "math.abs"),
            false => it.capturing(&name),
        };
        let (yes, no) = (one(self), one(self));
        all.push(line!(format!("local {g} = $ and $ or $"), condition, yes, no));
        all.extend(self.assigned_again(&name));
        all.push(self.called(format!("{g}("), &name));
        Some(all)
    }
}
