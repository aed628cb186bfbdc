//! Variable arguments: `...`, `select`, `table.pack`, named vararg parameters (manual § 3.4.11 and 3.4.12).

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::VARARGS, 3, Generator::vararg_function),
    (Features::VARARGS, 3, Generator::print_adjusted),
    (Features::VARARGS, 3, Generator::use_of_dots),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::VARARGS, 3, |it, _| {
        let count = if it.scope.varargs { "select(\"#\", ...)" } else { "select(\"#\", nil, nil)" };
        Some(Expression::leaf(ExpressionKind::Integer, count))
    }),
    (Features::VARARGS, 3, |it, _| {
        if !it.scope.varargs {
            return None;
        }
        Some(expr!(Integer, "((select($, ...)) or $)", expr!(Integer, "1 + $", it.small(3)), it.constant()))
    }),
];

impl Generator {
    /// Bodies of functions of variable arguments: what they give is an integer for any integers.
    fn vararg_body(&mut self) -> (&'static str, Vec<Statement>) {
        let kind = self.random.below(6);
        let loop_over = |head: &str, step: &str| {
            vec![
                line!("local sum = 0"),
                line!(format!("{head} do$end"), vec![line!(step)]),
                line!("return sum"),
            ]
        };
        match kind {
            0 => ("...", loop_over("for i = 1, select(\"#\", ...)", "sum = sum * 3 + (select(i, ...) or 0)")),
            1 => ("...", loop_over("for i, v in ipairs { ... }", "sum = sum + i * v")),
            2 => ("...args", loop_over("for i = 1, args.n", "sum = sum ~ (args[i] or i)")),
            3 => (
                "first, ...",
                vec![line!("local a, b = ..."), line!("return (first or 0) + (a or 1) * (b or 2), ...")],
            ),
            4 => (
                "...",
                vec![
                    line!("local all = table.pack(...)"),
                    line!("all[all.n + 1] = all.n"),
                    line!("return all[1] or 7, table.unpack(all, 2, all.n + 1)"),
                ],
            ),
            _ => (
                "a, ...rest",
                vec![line!("rest[1] = (rest[1] or 0) + 1"), line!("return (a or 0) + rest[1], rest.n, ...")],
            ),
        }
    }

    fn vararg_function(&mut self) -> Option<Vec<Statement>> {
        self.spend(100);
        let name = self.fresh("va");
        let (parameters, body) = self.vararg_body();
        let function = line!(format!("local function {name}({parameters})$end"), body);
        let count = self.random.below(5);
        let arguments = self.integers(count, 1);
        let mut calls = vec![expr!(Any, format!("({name}($))"), arguments)];
        let count = self.random.below(4);
        let arguments = self.integers(count, 0);
        calls.push(expr!(Any, format!("{name}($)"), arguments));
        Some(vec![function, self.shown(calls)])
    }

    /// Results cut to one, or filled up with nil, where a list asks for it (manual § 3.4.12).
    fn print_adjusted(&mut self) -> Option<Vec<Statement>> {
        let count = self.kit("count");
        let (first, second) = (self.fresh("v"), self.fresh("v"));
        let mut arguments = self.integers(2, 1);
        let call = expr!(Any, format!("{count}($)"), arguments.clone());
        let cut = expr!(Any, format!("({count}($))"), arguments.clone());
        let local = line!(format!("local {first}, {second} = $"), call.clone());
        arguments.insert(0, Expression::leaf(ExpressionKind::Field, &first));
        self.scope.add(&first, Sort::Integer, true);
        Some(vec![
            local,
            self.shown(vec![call.clone(), cut, expr!(Any, format!("{count}($, $)"), call.clone(), call)]),
            self.shown(vec![expr!(Any, second), expr!(Any, format!("{count}($, nil)"), arguments)]),
        ])
    }

    fn use_of_dots(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.varargs {
            return None;
        }
        Some(match self.random.below(4) {
            0 => vec![self.shown(vec![Expression::leaf(ExpressionKind::Any, "...")])],
            1 => vec![self.shown(vec![Expression::leaf(ExpressionKind::Any, "select(-1, 0, ...)")])],
            2 => {
                let name = self.fresh("v");
                self.scope.add(&name, Sort::Integer, true);
                vec![line!(format!("local {name} = ... or $"), self.constant())]
            }
            _ => {
                let name = self.fresh("l");
                self.scope.add(&name, Sort::List, true);
                vec![line!(format!("local {name} = {{ ... }}"))]
            }
        })
    }
}
