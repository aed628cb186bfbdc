//! What operators give of two integers (Lua manual § 3.4.1 – 3.4.2).

use super::arithmetic::Operator;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, UnaryOp};

/// Gives `a` operator `b`; `message` makes an error of what is wrong with the divisor.
///
/// # Errors
/// `Internal` for an operator that gives a float.
pub fn compute(
    context: &mut Context<'_>,
    operator: Operator,
    a: Word,
    b: Word,
    message: fn(&'static str) -> Message,
) -> Result<Abs> {
    let zero = || message(by_zero(operator));
    let word = match operator {
        Operator::Add => {
            let sum = context.add(a, b);
            context.known.note_addition(sum, a, b);
            sum
        }
        Operator::Sub => {
            let difference = context.sub(a, b);
            match b {
                Word::Imm(imm) => context.known.note_addition(difference, a, Word::Imm(imm.wrapping_neg())),
                Word::Value(_) => context.known.note_difference(difference, a),
            }
            difference
        }
        Operator::Mul => context.binary(BinaryOp::Mul, a, b),
        Operator::BAnd => context.and(a, b),
        Operator::BOr => context.binary(BinaryOp::Or, a, b),
        Operator::BXor => context.binary(BinaryOp::Xor, a, b),
        Operator::IDiv => divide(context, a, b, zero),
        Operator::Mod => modulo(context, a, b, zero),
        Operator::Shl => return shift(context, a, b, BinaryOp::Shl),
        Operator::Shr => return shift(context, a, b, BinaryOp::LShr),
        Operator::Div | Operator::Pow => {
            return context.internal_fault(format!("{operator:?} has no integer"));
        }
    };
    Ok(Abs::Int(word))
}

/// What is wrong with a divisor of 0.
fn by_zero(operator: Operator) -> &'static str {
    match operator {
        Operator::Mod => "attempt to perform 'n%0'",
        _ => "attempt to divide by zero",
    }
}

fn check_divisor(context: &mut Context<'_>, b: Word, zero: impl FnOnce() -> Message) {
    let is_zero = context.compare(CompareOp::Eq, b, 0);
    context.check(is_zero, zero);
}

/// `a // b`, rounded towards minus infinity (`luaV_idiv`).
fn divide(context: &mut Context<'_>, a: Word, b: Word, zero: impl FnOnce() -> Message) -> Word {
    check_divisor(context, b, zero);
    if let Word::Imm(imm) = b {
        if imm > 0 && imm.count_ones() == 1 {
            return context.binary(BinaryOp::AShr, a, i64::from(imm.trailing_zeros()));
        }
        if imm > 0 && context.range(a).min >= 0 {
            return context.binary(BinaryOp::UDiv, a, b);
        }
    }
    let quotient = context.binary(BinaryOp::SDiv, a, b);
    let rest = context.binary(BinaryOp::SMod, a, b);
    let wrong = rounded_wrongly(context, rest, b);
    context.sub(quotient, wrong)
}

/// `a % b` with the sign of `b` (`luaV_mod`).
fn modulo(context: &mut Context<'_>, a: Word, b: Word, zero: impl FnOnce() -> Message) -> Word {
    check_divisor(context, b, zero);
    if let Word::Imm(imm) = b {
        if imm > 0 && imm.count_ones() == 1 {
            return context.and(a, imm - 1);
        }
        if imm > 0 && context.range(a).min >= 0 {
            return context.binary(BinaryOp::UMod, a, b);
        }
    }
    let rest = context.binary(BinaryOp::SMod, a, b);
    let wrong = rounded_wrongly(context, rest, b);
    let mask = context.unary(UnaryOp::Neg, wrong);
    let correction = context.and(mask, b);
    context.add(rest, correction)
}

/// 1 if the truncated division has to be corrected: the rest is not 0 and its sign is not the divisor's.
fn rounded_wrongly(context: &mut Context<'_>, rest: Word, b: Word) -> Word {
    let some = context.compare(CompareOp::Ne, rest, 0);
    let some = context.condition_word(some);
    let differ = context.binary(BinaryOp::Xor, rest, b);
    let differ = context.shr(differ, 63);
    context.and(some, differ)
}

/// Shifts by Lua's rules (manual § 3.4.2): negative counts go the other way, counts of 64 and more give 0.
fn shift(context: &mut Context<'_>, a: Word, count: Word, op: BinaryOp) -> Result<Abs> {
    let other = if op == BinaryOp::Shl { BinaryOp::LShr } else { BinaryOp::Shl };
    if let Word::Imm(imm) = count {
        return Ok(Abs::Int(match imm {
            0..=63 => context.binary(op, a, imm),
            -63..=-1 => context.binary(other, a, -imm),
            _ => Word::Imm(0),
        }));
    }
    if context.range(count).within(0, 63) {
        return Ok(Abs::Int(context.binary(op, a, count)));
    }
    let mut arms = Vec::new();
    let mut arm = |context: &mut Context<'_>, word: Word| {
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Int(word)] });
    };
    let usual = context.compare(CompareOp::ULt, count, 64);
    let (then, otherwise) = context.split(usual);
    context.state = then;
    let word = context.binary(op, a, count);
    arm(context, word);
    context.state = otherwise;
    let back = context.unary(UnaryOp::Neg, count);
    let reverse = context.compare(CompareOp::ULt, back, 64);
    let (then, otherwise) = context.split(reverse);
    context.state = then;
    let word = context.binary(other, a, back);
    arm(context, word);
    context.state = otherwise;
    arm(context, Word::Imm(0));
    Ok(context.join(arms)?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil))
}
