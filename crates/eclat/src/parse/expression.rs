//! What has a value, with C's precedence (ISO C § 6.5), which `not` has as `!`.

use super::{Parser, Result};
use crate::ast::{Binary, Expression, ExpressionKind, Unary};
use crate::token::{At, Keyword, Token};
use std::cell::Cell;

/// Operators by how tightly they bind, from the loosest. All take their left side first.
const LEVELS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::Or)],
    &[("&&", Binary::And)],
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("==", Binary::Equal), ("!=", Binary::Unequal)],
    &[
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
        ("<", Binary::Less),
        (">", Binary::Greater),
    ],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Remainder)],
];

impl Parser {
    pub fn expression(&mut self) -> Result<Expression> {
        self.deeper(|parser| parser.operation(0))
    }

    /// What is made of operators of that level and tighter ones.
    fn operation(&mut self, loosest: usize) -> Result<Expression> {
        let mut left = self.unary()?;
        while let Some((level, operator)) = self.operator().filter(|(level, _)| *level >= loosest) {
            let (at, height) = (self.at(), self.height);
            self.next += 1;
            let operands = Box::new([left, self.operation(level + 1)?]);
            self.grow(height.max(self.height), at)?;
            left = Expression { kind: ExpressionKind::Binary { operator, operands }, at };
        }
        Ok(left)
    }

    /// An expression has been put together of others, which have so many levels.
    fn grow(&mut self, height: u32, at: At) -> Result<()> {
        self.height = height + 1;
        self.check_depth(self.height, at)
    }

    /// The operator that is next, with its level.
    fn operator(&self) -> Option<(usize, Binary)> {
        let word = match self.peek() {
            Token::Symbol(symbol) => symbol,
            Token::Keyword(Keyword::Or) => "||",
            Token::Keyword(Keyword::And) => "&&",
            _ => return None,
        };
        LEVELS.iter().enumerate().find_map(|(level, operators)| {
            operators.iter().find(|(known, _)| *known == word).map(|(_, operator)| (level, *operator))
        })
    }

    fn unary(&mut self) -> Result<Expression> {
        let at = self.at();
        let operator = match self.peek() {
            Token::Keyword(Keyword::Not) | Token::Symbol("!") => Unary::Not,
            Token::Symbol("-") => Unary::Negate,
            Token::Symbol("~") => Unary::Complement,
            _ => return self.simple(),
        };
        self.next += 1;
        let operand = Box::new(self.deeper(Self::unary)?);
        self.grow(self.height, at)?;
        Ok(Expression { kind: ExpressionKind::Unary { operator, operand }, at })
    }

    fn simple(&mut self) -> Result<Expression> {
        let at = self.at();
        self.height = 0;
        let kind = match self.advance() {
            Token::Number { value, is_hexadecimal } => ExpressionKind::Number { value, is_hexadecimal },
            Token::Text(text) => ExpressionKind::Text(text),
            Token::Keyword(Keyword::True) => ExpressionKind::Boolean(true),
            Token::Keyword(Keyword::False) => ExpressionKind::Boolean(false),
            Token::Symbol("(") => {
                let inner = self.expression()?;
                self.want_symbol(")")?;
                return Ok(inner);
            }
            Token::Name(name) => return self.named(name, at),
            _ => {
                self.next -= 1;
                return Err(self.unexpected("a value"));
            }
        };
        Ok(Expression { kind, at })
    }

    /// A variable, a call, or an entry of a map.
    fn named(&mut self, name: String, at: At) -> Result<Expression> {
        let kind = if self.take_symbol("(") {
            ExpressionKind::Call { owner: None, name, arguments: self.operands(")", at)? }
        } else if self.take_symbol(".") {
            let (owner, name) = (Some(name), self.want_name("the name of a function")?);
            self.want_symbol("(")?;
            ExpressionKind::Call { owner, name, arguments: self.operands(")", at)? }
        } else if self.take_symbol("[") {
            let map = self.want_name("the name of a map")?;
            self.want_symbol("]")?;
            self.want_symbol("[")?;
            ExpressionKind::Entry { owner: name, map, key: self.operands("]", at)? }
        } else {
            ExpressionKind::Name(name)
        };
        Ok(Expression { kind, at })
    }

    /// What a call is given, up to that bracket.
    fn operands(&mut self, end: &'static str, at: At) -> Result<Vec<Expression>> {
        let highest = Cell::new(0);
        let operands = self.list(end, |parser| {
            let operand = parser.expression()?;
            highest.set(parser.height.max(highest.get()));
            Ok(operand)
        })?;
        self.grow(highest.get(), at)?;
        Ok(operands)
    }
}
