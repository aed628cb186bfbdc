//! Protected calls, errors of all values and levels, assertions (manual § 2.3 and § 6.2).

use super::tree::{Expression, ExpressionKind, Statement, at_least, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::ERRORS, 6, Generator::protected_block),
    (Features::ERRORS, 3, Generator::protected_results),
    (Features::ERRORS, 3, Generator::with_handler),
    (Features::ERRORS, 2, Generator::raise_again),
    (Features::ERRORS, 2, Generator::asserted),
    (Features::ERRORS, 3, Generator::protected_function),
];

impl Generator {
    /// A function without parameters in which errors are welcome.
    fn risky(&mut self, count: usize) -> Expression {
        let body = self.protected_body(|it| {
            let mut body = it.statements(count);
            let results = it.integers(2, 2);
            body.push(line!("return $", at_least(0, results)));
            body
        });
        expr!(Function, "function()$end", body)
    }

    fn protected_block(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let outcome = self.kit("outcome");
        let count = self.random.below(4);
        let function = self.risky(count);
        Some(vec![self.shown(vec![expr!(Any, format!("{outcome}(pcall($))"), function)])])
    }

    /// A protected call whose results are kept.
    fn protected_results(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (ok, result) = (self.fresh("ok"), self.fresh("e"));
        let function = self.risky(1);
        let shown = vec![
            Expression::leaf(ExpressionKind::Boolean, &ok),
            expr!(Text, format!("type({result})")),
            expr!(Any, format!("{ok} and {result} or type({result}) == \"string\" and #{result}")),
        ];
        self.scope.add(&ok, super::Sort::Boolean, true);
        Some(vec![line!(format!("local {ok}, {result} = pcall($)"), function), self.shown(shown)])
    }

    fn with_handler(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let outcome = self.kit("outcome");
        let handler = match self.random.below(4) {
            0 => expr!(Function, "function(e)$end", vec![line!("return type(e) .. \"!\"")]),
            1 => expr!(
                Function,
                "function(e)$end",
                vec![line!("print(\"handling\", type(e))"), line!("return e, 1")]
            ),
            2 => Expression::leaf(ExpressionKind::Function, "type"),
            _ => expr!(
                Function,
                "function(e)$end",
                vec![line!("return type(e) == \"string\" and e:upper() or 7")]
            ),
        };
        let function = self.risky(1);
        let argument = self.integer(0);
        Some(vec![self.shown(vec![expr!(
            Any,
            format!("{outcome}(xpcall($, $, $))"),
            function,
            handler,
            argument
        )])])
    }

    /// An error that is caught and raised again.
    fn raise_again(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let outcome = self.kit("outcome");
        let inner = self.risky(1);
        let level = self.one_of(&["", ", 0", ", 2"]);
        let body = vec![
            line!("local ok, e = pcall($)", inner),
            line!(format!("if not ok then$end"), vec![line!(format!("error(e{level})"))]),
            line!("return e"),
        ];
        let function = expr!(Function, "function()$end", body);
        Some(vec![self.shown(vec![expr!(Any, format!("{outcome}(pcall($))"), function)])])
    }

    fn asserted(&mut self) -> Option<Vec<Statement>> {
        let (outcome, condition) = (self.kit("outcome"), self.condition(1));
        let call = match self.random.below(4) {
            0 => expr!(Any, "pcall(assert, $)", condition),
            1 => expr!(
                Any,
                "pcall(assert, $, $)",
                condition,
                Expression::leaf(ExpressionKind::Text, "\"asserted\"")
            ),
            2 => {
                let check = self.protected_body(|it| {
                    let condition = it.condition(1);
                    vec![line!("assert($, { code = $ })", condition, it.integer(0))]
                });
                expr!(Any, "pcall($)", expr!(Function, "function()$end", check))
            }
            _ => expr!(Any, "pcall(assert, $, $)", condition, at_least(1, self.integers(2, 1))),
        };
        Some(vec![self.shown(vec![expr!(Any, format!("{outcome}($)"), call)])])
    }

    /// A function that may fail, by name and with arguments.
    fn protected_function(&mut self) -> Option<Vec<Statement>> {
        let outcome = self.kit("outcome");
        self.spend(60);
        let call = match self.random.below(6) {
            0 => expr!(Any, "pcall(error, $)", self.printable(1)),
            1 => expr!(Any, "pcall(error)"),
            2 => expr!(Any, "pcall(pcall, error, $)", self.integer(0)),
            3 => expr!(Any, "pcall(string.rep, $, $ & 3)", self.text(0), self.integer(0)),
            4 => expr!(Any, "pcall($, $)", self.function(1, super::WORK_OF_CLOSURE), self.integer(0)),
            _ => expr!(Any, "pcall(select, $, $)", self.small(3), self.integer(0)),
        };
        Some(vec![self.shown(vec![expr!(Any, format!("{outcome}($)"), call)])])
    }
}
