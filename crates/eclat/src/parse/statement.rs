//! Lines of chains.

use super::{Parser, Result};
use crate::ast::{Binary, Expression, ExpressionKind, Statement, StatementKind};
use crate::token::{Keyword, Token};

/// What is assigned to a variable that the operator has changed.
const CHANGES: [(&str, Binary); 10] = [
    ("+=", Binary::Add),
    ("-=", Binary::Subtract),
    ("*=", Binary::Multiply),
    ("/=", Binary::Divide),
    ("%=", Binary::Remainder),
    ("&=", Binary::BitAnd),
    ("|=", Binary::BitOr),
    ("^=", Binary::BitXor),
    ("<<=", Binary::ShiftLeft),
    (">>=", Binary::ShiftRight),
];

impl Parser {
    /// `:` and the lines that belong together: deeper ones, or what stands behind it.
    pub fn block(&mut self) -> Result<Vec<Statement>> {
        self.want_symbol(":")?;
        if *self.peek() != Token::NewLine {
            return Ok(vec![self.deeper(Self::statement)?]);
        }
        self.end_of_line()?;
        self.want(&Token::Indent, "a deeper line")?;
        let mut lines = Vec::new();
        while !self.take(&Token::Dedent) {
            lines.push(self.deeper(Self::statement)?);
        }
        Ok(lines)
    }

    fn statement(&mut self) -> Result<Statement> {
        let at = self.at();
        let kind = match self.peek().clone() {
            Token::Keyword(Keyword::If) => self.conditional()?,
            Token::Keyword(Keyword::While) => {
                self.next += 1;
                let condition = self.expression()?;
                StatementKind::While { condition, body: self.block()? }
            }
            Token::Keyword(Keyword::For) => self.counted()?,
            _ => {
                let kind = self.line()?;
                self.end_of_line()?;
                kind
            }
        };
        Ok(Statement { kind, at })
    }

    /// A statement without a block.
    fn line(&mut self) -> Result<StatementKind> {
        if self.take_keyword(Keyword::Pass) {
            return Ok(StatementKind::Pass);
        }
        if self.take_keyword(Keyword::Return) {
            let has_value = *self.peek() != Token::NewLine;
            return Ok(StatementKind::Return(has_value.then(|| self.expression()).transpose()?));
        }
        let (Token::Name(name), Token::Symbol(symbol)) = (self.peek().clone(), self.ahead(1).clone()) else {
            return Ok(StatementKind::Call(self.expression()?));
        };
        match symbol {
            ":" => {
                let (ty, name) = self.parameter()?;
                self.want_symbol("=")?;
                Ok(StatementKind::Assign { ty: Some(ty), name, value: self.expression()? })
            }
            "=" => {
                self.next += 2;
                Ok(StatementKind::Assign { ty: None, name, value: self.expression()? })
            }
            symbol => match CHANGES.iter().find(|(known, _)| *known == symbol) {
                Some((_, operator)) => {
                    self.next += 2;
                    Ok(StatementKind::Change { name, operator: *operator, value: self.expression()? })
                }
                None => Ok(StatementKind::Call(self.expression()?)),
            },
        }
    }

    fn conditional(&mut self) -> Result<StatementKind> {
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        self.next += 1;
        loop {
            let condition = self.expression()?;
            arms.push((condition, self.block()?));
            if self.take_keyword(Keyword::Elif) {
                continue;
            }
            if self.take_keyword(Keyword::Else) {
                otherwise = self.block()?;
            }
            return Ok(StatementKind::If { arms, otherwise });
        }
    }

    /// `for NAME in range(END)`, `range(FIRST, END)`, `range(FIRST, END, STEP)`.
    fn counted(&mut self) -> Result<StatementKind> {
        self.next += 1;
        let name = self.want_name("the name of a variable")?;
        self.want(&Token::Keyword(Keyword::In), "`in`")?;
        let at = self.at();
        self.want(&Token::Name("range".into()), "`range`")?;
        self.want_symbol("(")?;
        let mut bounds = self.list(")", Self::expression)?.into_iter();
        let number = |value| Expression { kind: ExpressionKind::Number { value, is_hexadecimal: false }, at };
        let range = match (bounds.next(), bounds.next(), bounds.next(), bounds.next()) {
            (Some(end), None, None, None) => [number(0), end, number(1)],
            (Some(first), Some(end), None, None) => [first, end, number(1)],
            (Some(first), Some(end), Some(step), None) => [first, end, step],
            _ => return Err(self.unexpected("one to three numbers for `range`")),
        };
        Ok(StatementKind::For { name, range: Box::new(range), body: self.block()? })
    }
}
