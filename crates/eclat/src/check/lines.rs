//! Statements.

use super::expression::{binary, convert, number};
use super::{Result, Scope, constant, is_upper};
use crate::ast::{Binary, Expression, ExpressionKind, Statement, StatementKind, Type};
use crate::error::{CheckErrorKind, instead_of};
use crate::token::At;
use crate::tree::{Line, LineKind, Value, ValueKind};

impl<'a> Scope<'a> {
    pub fn lines(&mut self, statements: &'a [Statement]) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        for Statement { kind, at } in statements {
            self.line(kind, *at, &mut lines)?;
        }
        Ok(lines)
    }

    /// A block's lines, and those behind them.
    fn inner(&mut self, statements: &'a [Statement], at: At) -> Result<Vec<Line>> {
        self.block(at, |scope| scope.lines(statements))
    }

    fn line(&mut self, statement: &'a StatementKind, at: At, lines: &mut Vec<Line>) -> Result<()> {
        let mut push = |kind| lines.push(Line { kind, at });
        match statement {
            StatementKind::Pass => {}
            StatementKind::Assign { ty: Some(ty), name, value } => {
                let value = self.converted(value, *ty)?;
                push(LineKind::Assign(self.add(name, *ty, at)?, value));
            }
            StatementKind::Assign { ty: None, name, value }
                if self.variable(name).is_none() && is_upper(name) =>
            {
                self.constants.insert(name, constant(value)?);
            }
            StatementKind::Assign { ty: None, name, value } => push(self.assigned(name, value, at)?),
            StatementKind::Change { name, operator, value } => {
                push(self.changed(name, *operator, value, at)?)
            }
            StatementKind::Return(value) => {
                let value = value.as_ref().map(|value| self.converted(value, Type::U64)).transpose()?;
                push(LineKind::Return(value));
            }
            StatementKind::Call(call) => match call.kind {
                ExpressionKind::Call { .. } => push(LineKind::Call(self.value(call)?)),
                ExpressionKind::Name(ref name) if instead_of(name).is_some() => {
                    return Err(CheckErrorKind::Unknown { name: name.clone() }.at(at));
                }
                _ => return Err(CheckErrorKind::Useless.at(at)),
            },
            StatementKind::If { arms, otherwise } => {
                let mut checked = Vec::new();
                for (condition, then) in arms {
                    checked.push((self.value(condition)?, self.inner(then, at)?));
                }
                push(LineKind::If { arms: checked, otherwise: self.inner(otherwise, at)? });
            }
            StatementKind::While { condition, body } => {
                let condition = self.value(condition)?;
                push(LineKind::While { condition, body: self.inner(body, at)? });
            }
            StatementKind::For { .. } => {
                let counted = self.block(at, |scope| scope.counted(statement, at))?;
                lines.extend(counted);
            }
        }
        Ok(())
    }

    /// `NAME = VALUE` of a variable that there is.
    fn assigned(&mut self, name: &'a str, value: &'a Expression, at: At) -> Result<LineKind> {
        let id = self.known(name, at)?;
        let ty = self.variables[id].ty;
        Ok(LineKind::Assign(id, self.converted(value, ty)?))
    }

    /// `NAME += VALUE` is `NAME = NAME + VALUE`.
    fn changed(
        &mut self,
        name: &'a str,
        operator: Binary,
        value: &'a Expression,
        at: At,
    ) -> Result<LineKind> {
        let id = self.known(name, at)?;
        let ty = self.variables[id].ty;
        let before = Value { kind: ValueKind::Variable(id), ty, at };
        let after = self.value(value)?;
        Ok(LineKind::Assign(id, convert(binary(operator, [before, after], at), ty)))
    }

    /// A variable that is assigned.
    fn known(&self, name: &str, at: At) -> Result<usize> {
        let is_constant = self.constants.contains_key(name) || self.names.constants.contains_key(name);
        match self.variable(name) {
            Some(id) => Ok(id),
            None if is_constant => Err(CheckErrorKind::Constant { name: name.into() }.at(at)),
            None => Err(CheckErrorKind::Untyped { name: name.into() }.at(at)),
        }
    }

    /// `for NAME in range(FIRST, END, STEP)`: NAME has the type that it had, or 64 bits with a sign. All three are computed once, and counted is
    /// with 64 bits, so that the last turn of a short type is one.
    fn counted(&mut self, statement: &'a StatementKind, at: At) -> Result<Vec<Line>> {
        let StatementKind::For { name, range, body } = statement else { return Ok(Vec::new()) };
        let [first, end, step] = &**range;
        let long = Type { bits: 64, is_signed: true };
        let known = self.variable(name);
        let ty = known.map_or(long, |id| self.variables[id].ty);
        let counts = if ty.bits < long.bits { long } else { ty };
        let (first, end) = (self.converted(first, counts)?, self.converted(end, counts)?);
        let step = self.value(step)?;
        let is_down = match number(&step) {
            Some(0) | None => return Err(CheckErrorKind::Step.at(step.at)),
            Some(number) => step.ty.is_signed && (number as i64) < 0,
        };
        let counter = known.map_or_else(|| self.add(name, ty, at), Ok)?;
        let (next, last) = (self.hidden(counts), self.hidden(counts));
        let variable = |id| Value { kind: ValueKind::Variable(id), ty: counts, at };
        let assign = |id, value| Line { kind: LineKind::Assign(id, value), at };
        let comparison = if is_down { Binary::Greater } else { Binary::Less };
        let condition = binary(comparison, [variable(next), variable(last)], at);
        let sum = binary(Binary::Add, [variable(next), step], at);
        let mut inner =
            vec![assign(counter, convert(variable(next), ty)), assign(next, convert(sum, counts))];
        inner.extend(self.inner(body, at)?);
        let turn = Line { kind: LineKind::While { condition, body: inner }, at };
        Ok(vec![assign(next, first), assign(last, end), turn])
    }
}
