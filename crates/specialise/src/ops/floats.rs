//! What operators give of two numbers of which one is a float, and what `/` and `^` give of any (Lua manual § 3.4.1; `luaO_rawarith` in
//! lobject.c).

use super::arithmetic::Operator;
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::floats;
use crate::value::{Abs, Word, float_of};

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Integer(Word),
    Float(Word),
}

impl Number {
    pub fn is_float(self) -> bool {
        matches!(self, Number::Float(_))
    }
}

/// Whether the operator gives a float of these.
pub fn gives_float(operator: Operator, a: Number, b: Number) -> bool {
    matches!(operator, Operator::Div | Operator::Pow)
        || !operator.is_bitwise() && (a.is_float() || b.is_float())
}

/// Gives `a` operator `b`; `negates`: it is a unary minus of `b`.
///
/// # Errors
/// A refusal of `^`, but for squares and for what is known now; `Internal` for a bitwise operator.
pub fn compute(
    context: &mut Context<'_>,
    (operator, negates): (Operator, bool),
    a: Number,
    b: Number,
) -> Result<Abs> {
    let y = float(context, b)?;
    if negates {
        return Ok(Abs::Float(context.negative_float(y)));
    }
    let x = float(context, a)?;
    let routine = match operator {
        Operator::Add => &floats::ADD,
        Operator::Sub => &floats::SUBTRACT,
        Operator::Mul => &floats::MULTIPLY,
        Operator::Div => &floats::DIVIDE,
        Operator::Mod => &floats::MODULO,
        Operator::IDiv => {
            let quotient = context.compute(&floats::DIVIDE, &[x, y])?;
            return context.rounded_float(quotient, false).map(Abs::Float);
        }
        Operator::Pow => return power(context, x, y),
        Operator::BAnd | Operator::BOr | Operator::BXor | Operator::Shl | Operator::Shr => {
            return context.internal_fault(format!("{operator:?} has no float"));
        }
    };
    context.compute(routine, &[x, y]).map(Abs::Float)
}

/// The operand as a float.
fn float(context: &mut Context<'_>, number: Number) -> Result<Word> {
    match number {
        Number::Integer(word) => context.float_of_integer(word),
        Number::Float(word) => Ok(word),
    }
}

/// `luai_numpow`: squares are products.
fn power(context: &mut Context<'_>, x: Word, y: Word) -> Result<Abs> {
    match (x, y) {
        (_, Word::Imm(exponent)) if float_of(exponent) == 2.0 => {
            context.compute(&floats::MULTIPLY, &[x, x]).map(Abs::Float)
        }
        (Word::Imm(x), Word::Imm(y)) => Ok(Abs::float(float_of(x).powf(float_of(y)))),
        _ => {
            let what = "a power that is no square".to_string();
            let help = "multiply, or write `1 << n` for a power of two".to_string();
            context.refuse(LowerErrorKind::Float { what, help }, Some("^"))
        }
    }
}
