//! Variables that are closed at the end of their block, however it ends (manual § 3.3.8).

use super::tree::{Expression, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::CLOSING, 4, Generator::closed_block),
    (Features::CLOSING, 2, Generator::closed_in_loop),
    (Features::CLOSING, 2, Generator::closed_by_return),
    (Features::CLOSING, 1, Generator::nothing_to_close),
];

impl Generator {
    /// The function of the kit that makes something to close at this place.
    pub(super) fn closing(&mut self) -> &'static str {
        self.kit(if self.protected > 0 { "closing" } else { "closing_anywhere" })
    }

    fn closing_variable(&mut self) -> Statement {
        let (closing, name) = (self.closing(), self.fresh("h"));
        line!(format!("local {name} <close> = {closing}($)"), self.integer(1))
    }

    fn closed_block(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 8 {
            return None;
        }
        self.spend(60);
        let body = self.block(|it| {
            let mut body = vec![it.closing_variable()];
            body.extend(it.statements(1));
            body.push(it.closing_variable());
            body.extend(it.statements(1));
            body
        });
        Some(vec![line!("do$end", body)])
    }

    fn closed_in_loop(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 4 {
            return None;
        }
        let name = self.fresh("i");
        let body = self.turns(3, |it| {
            it.scope.add(&name, super::Sort::Integer, false);
            it.spend(40);
            let mut body = vec![it.closing_variable()];
            let condition = it.condition(1);
            body.push(line!("if $ then$end", condition, vec![line!("break")]));
            body.extend(it.statements(1));
            body
        });
        Some(vec![line!(format!("for {name} = 1, 3 do$end"), body)])
    }

    /// A function that closes after its results are known; an error in it, or in the closing, if errors are used.
    fn closed_by_return(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || self.factor > 8 {
            return None;
        }
        self.spend(60);
        let outcome = self.kit("outcome");
        let name = self.fresh("v");
        let failing = self.has(Features::ERRORS) && self.random.once_in(3);
        let start = self.integer(1);
        let body = self.protected_body(|it| {
            it.scope.add(&name, super::Sort::Integer, true);
            let mut body = vec![it.closing_variable()];
            if failing {
                let message = "error(\"from closing: \" .. type(e), 0)";
                let close = expr!(Function, "function(_, e)$end", vec![line!(message)]);
                body.push(line!("local broken <close> = setmetatable({}, { __close = $ })", close));
            }
            let close = vec![line!(format!("{name} = {name} + 1"))];
            let close = expr!(Function, "function()$end", close);
            body.push(line!("local counted <close> = setmetatable({}, { __close = $ })", close));
            body.extend(it.statements(1));
            body.push(line!(format!("return {name}, $"), it.integer(1)));
            body
        });
        let function = expr!(Function, "function()$end", body);
        let called: Expression = expr!(Any, format!("{outcome}(pcall($))"), function);
        Some(vec![
            line!(format!("local {name} = $"), start),
            self.shown(vec![called]),
            self.shown(vec![expr!(Integer, name)]),
        ])
    }

    /// False and nil need no closing; anything without `__close` is refused.
    fn nothing_to_close(&mut self) -> Option<Vec<Statement>> {
        let outcome = self.kit("outcome");
        let body = self.protected_body(|it| {
            let value = match it.random.below(4) {
                0 => expr!(Any, "nil"),
                1 => expr!(Any, "false"),
                _ if it.has(Features::ERRORS) => it.printable(1),
                _ => expr!(Any, "nil"),
            };
            let result = it.integer(1);
            vec![line!("local nothing <close> = $", value), line!("return $", result)]
        });
        let function = expr!(Function, "function()$end", body);
        Some(vec![self.shown(vec![expr!(Any, format!("{outcome}(pcall($))"), function)])])
    }
}
