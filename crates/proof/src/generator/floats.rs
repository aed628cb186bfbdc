//! Floats: arithmetic of them and with integers, comparisons, loops that count them, variables that are an integer or a float.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule, TRIES};

/// What stands in programs with floats, and in no other.
pub const SIGN: &str = "local huge, nan = math.huge, 0 / 0";

/// Floats at which arithmetic changes its mind.
const CONSTANTS: [&str; 24] = [
    "0.0",
    "-0.0",
    "0.5",
    "-0.5",
    "1.0",
    "1.5",
    "-1.0",
    "2.5",
    "-3.75",
    "0.1",
    "1e15",
    "1e-7",
    "-1e300",
    "5e-324",
    "2.2250738585072014e-308",
    "1.7976931348623157e308",
    "9007199254740992.0",
    "9223372036854775808.0",
    "-9223372036854775808.0",
    "4294967296.0",
    "huge",
    "-huge",
    "nan",
    "-nan",
];

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::FLOATS, 24, Generator::float_local),
    (Features::FLOATS, 16, Generator::float_assignment),
    (Features::FLOATS, 10, Generator::float_for),
    (Features::FLOATS, 16, |it| {
        let count = 1 + it.random.below(3);
        let arguments = (0..count).map(|_| it.float_or_integer(2)).collect();
        Some(vec![it.shown(arguments)])
    }),
];

/// Those whose value is an integer.
pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::FLOATS, 6, |it, depth| {
        Some(expr!(Integer, "(math.tointeger($) or $)", it.float(depth - 1), it.integer(depth - 1)))
    }),
    (Features::FLOATS, 4, |it, depth| {
        Some(expr!(Integer, "(math.tointeger($ // 1) or 7)", it.float(depth - 1)))
    }),
    (Features::FLOATS, 2, |it, depth| {
        Some(expr!(Integer, "(math.type($) == \"float\" and 3 or 4)", it.float_or_integer(depth - 1)))
    }),
    (Features::FLOATS, 1, |it, depth| {
        let operator = it.one_of(&["|", "&", "~", "<<"]);
        Some(expr!(Integer, format!("($ {operator} $)"), it.integer(depth - 1), it.whole(depth - 1)))
    }),
];

pub(super) const CONDITIONS: Rules<ExpressionRule> = &[(Features::FLOATS, 16, |it, depth| {
    let operator = it.one_of(&["<", "<=", ">", ">=", "==", "~="]);
    let sides = [it.float_or_integer(depth.min(1)), it.float(depth.min(1))];
    let [left, right] = if it.random.once_in(2) {
        sides
    } else {
        let [a, b] = sides;
        [b, a]
    };
    Some(expr!(Boolean, format!("($ {operator} $)"), left, right))
})];

const FLOATS: Rules<ExpressionRule> = &[
    (Features::FLOATS, 10, |it, depth| it.float_operation(&["+", "-", "*", "/"], depth)),
    (Features::FLOATS, 5, |it, depth| it.float_operation(&["//", "%"], depth)),
    (Features::FLOATS, 5, |it, depth| {
        Some(expr!(Float, "($ / $)", it.integer(depth - 1), it.integer(depth - 1)))
    }),
    (Features::FLOATS, 3, |it, depth| Some(expr!(Float, "(-$)", it.float(depth - 1)))),
    (Features::FLOATS, 2, |it, depth| Some(expr!(Float, "($ ^ 2)", it.float_or_integer(depth - 1)))),
    (Features::FLOATS, 3, |it, depth| Some(expr!(Float, "($ + 0.0)", it.float_or_integer(depth - 1)))),
    (Features::FLOATS, 3, |it, depth| {
        let condition = it.condition(1);
        Some(expr!(Float, "($ and $ or $)", condition, it.float(depth - 1), it.float(depth - 1)))
    }),
    (Features::FLOATS, 4, |it, depth| {
        let (first, second) = (it.float(depth - 1), it.float(depth - 1));
        let function = it.one_of(&["max", "min", "fmod"]);
        Some(expr!(Float, format!("math.{function}($, $)"), first, second))
    }),
    (Features::FLOATS, 3, |it, depth| {
        let function = it.one_of(&["abs", "sqrt", "deg", "rad"]);
        Some(expr!(Float, format!("math.{function}($)"), it.float(depth - 1)))
    }),
    (Features::FLOATS, 1, |it, depth| {
        let part = it.one_of(&["1", "2"]);
        Some(expr!(Float, format!("((select({part}, math.modf($))) + 0.0)"), it.float(depth - 1)))
    }),
];

impl Generator {
    fn float_constant(&mut self) -> Expression {
        if self.random.once_in(3) {
            return Expression::leaf(
                ExpressionKind::Float,
                format!("{:?}", self.random.below(400) as f64 / 16.0),
            );
        }
        let text = self.one_of(&CONSTANTS);
        Expression::leaf(ExpressionKind::Float, format!("({text})"))
    }

    fn float_variable(&mut self) -> Expression {
        match self.variable(Sort::Float) {
            Some(name) => Expression::leaf(ExpressionKind::Float, name),
            None => self.float_constant(),
        }
    }

    /// An expression whose value is a float.
    pub(super) fn float(&mut self, depth: usize) -> Expression {
        self.spend(4);
        if self.loading() {
            return self.float_constant();
        }
        if depth == 0 || !self.room(30) {
            return if self.random.once_in(3) { self.float_constant() } else { self.float_variable() };
        }
        for _ in 0..TRIES {
            if let Some(written) = self.chosen(&[FLOATS]).and_then(|rule| rule(self, depth)) {
                return written;
            }
        }
        self.float_variable()
    }

    /// An expression whose value is an integer or a float.
    fn float_or_integer(&mut self, depth: usize) -> Expression {
        match self.random.below(5) {
            0 => self.integer(depth),
            1..=2 => match self.variable(Sort::Number) {
                Some(name) => Expression::leaf(ExpressionKind::Float, name),
                None => self.float(depth),
            },
            _ => self.float(depth),
        }
    }

    /// A float with integral value, mostly.
    fn whole(&mut self, depth: usize) -> Expression {
        match self.calm || !self.random.once_in(8) {
            true => expr!(Float, "(($ & 4095) / 1)", self.integer(depth)),
            false => self.float(depth),
        }
    }

    fn float_operation(&mut self, operators: &[&'static str], depth: usize) -> Option<Expression> {
        let operator = self.one_of(operators);
        let float = self.float(depth - 1);
        let other = if self.random.once_in(3) { self.integer(depth - 1) } else { self.float(depth - 1) };
        let (left, right) = if self.random.once_in(2) { (float, other) } else { (other, float) };
        Some(expr!(Float, format!("($ {operator} $)"), left, right))
    }

    fn float_local(&mut self) -> Option<Vec<Statement>> {
        if self.random.once_in(3) {
            let value = self.float_or_integer(3);
            let name = self.fresh("m");
            self.scope.add(&name, Sort::Number, true);
            return Some(vec![line!(format!("local {name} = $"), value)]);
        }
        let value = self.float(3);
        let name = self.fresh("f");
        self.scope.add(&name, Sort::Float, true);
        Some(vec![line!(format!("local {name} = $"), value)])
    }

    fn float_assignment(&mut self) -> Option<Vec<Statement>> {
        if self.random.once_in(2) {
            let name = self.assignable(Sort::Number)?;
            let operator = self.one_of(&["+", "-", "*", "//"]);
            return Some(match self.random.below(3) {
                0 => vec![line!(format!("{name} = {name} {operator} $"), self.float(1))],
                1 => vec![line!(format!("{name} = $"), self.integer(2))],
                _ => vec![line!(format!("{name} = $"), self.float_or_integer(2))],
            });
        }
        let name = self.assignable(Sort::Float)?;
        Some(match self.random.once_in(3) {
            true => vec![line!(format!("{name} = {name} * 0.5 + $"), self.float_or_integer(1))],
            false => vec![line!(format!("{name} = $"), self.float(3))],
        })
    }

    /// Counts floats, or integers up to a float.
    fn float_for(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let small = |it: &mut Self| expr!(Float, "(($ & 7) / 2)", it.integer(1));
        let (from, to) = (small(self), small(self));
        let (from, step, sort) = match self.random.below(5) {
            0 => (expr!(Integer, "($ & 3)", self.integer(1)), "", Sort::Integer),
            1 => (from, ", -0.75", Sort::Float),
            2 => (from, ", 0.5", Sort::Float),
            3 => (from, "", Sort::Float),
            _ => (expr!(Integer, "($ & 7)", self.integer(1)), ", -1.0", Sort::Float),
        };
        let name = self.fresh("x");
        let body = self.iteration(8, |it| it.scope.add(&name, sort, false));
        Some(vec![line!(format!("for {name} = $, ${step} do$end"), from, to, body)])
    }
}
