//! Floats in texts of packet time (`l_str2d`, lobject.c): decimal ones whose digits and whose power of ten are both exact as floats, so that one
//! product or quotient is the nearest float (Clinger, "How to read floating point numbers accurately", 1990). Longer ones take general code.

use super::number::{digit_of, numerals, step};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::floats::{DIVIDE, MULTIPLY};
use crate::loops::Iteration;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};

/// The largest power of ten that is exactly a float is 10^22; the table is as long as its mask.
const POWERS: usize = 32;
const LARGEST_POWER: i64 = 22;

/// An exponent beyond that has no power in the table, whatever its further digits are.
const LARGEST_EXPONENT: i64 = 1 << 16;

fn too_long() -> Message {
    Message::new(
        "floats with more than 15 digits, powers of ten beyond 22, or in hexadecimal cannot be read from text in expanded code",
    )
}

/// The float that a text is the numeral of, which the automaton has found to be a float. Others than those above end in an error.
pub fn read(context: &mut Context<'_>, slice: Slice, negative: Word) -> Result<Word> {
    use numerals::START;
    let initial = [0, START as i64, 0, 0, 0, 0, 0].map(Word::Imm);
    let arms = context.repeat(&initial, &mut |context, variables| character(context, slice, variables))?;
    let Some(values) = context.join(arms)? else { return Ok(Word::Imm(0)) };
    let [Abs::Int(mantissa), Abs::Int(scale), Abs::Int(exponent), Abs::Int(minus), Abs::Int(is_long)] =
        values[..]
    else {
        return Ok(Word::Imm(0));
    };
    let exponent = super::number::signed(context, exponent, minus);
    let power = context.sub(exponent, scale);
    let shifted = context.add(power, LARGEST_POWER);
    let far = context.compare(CompareOp::UGt, shifted, 2 * LARGEST_POWER);
    context.check(far, too_long);
    let is_long = context.compare(CompareOp::Ne, is_long, 0);
    context.check(is_long, too_long);
    let digits = context.float_of_integer(mantissa)?;
    let magnitude = scaled(context, digits, power)?;
    let sign = context.shl(negative, 63);
    Ok(context.binary(BinaryOp::Or, magnitude, sign))
}

/// `digits * 10^power`, where both are exact.
fn scaled(context: &mut Context<'_>, digits: Word, power: Word) -> Result<Word> {
    let below = context.compare_apart(CompareOp::SLt, power, 0);
    let (below, above) = context.split(below);
    let mut arms = Vec::new();
    for (state, routine, is_below) in [(below, &DIVIDE, true), (above, &MULTIPLY, false)] {
        context.state = state;
        let size = if is_below { context.binary(BinaryOp::Sub, 0, power) } else { power };
        let ten = power_of_ten(context, size);
        let value = context.compute(routine, &[digits, ten])?;
        arms.push(crate::paths::Arm { state: context.take_state(), values: vec![Abs::Int(value)] });
    }
    let Some(values) = context.join(arms)? else { return Ok(Word::Imm(0)) };
    Ok(match values.first() {
        Some(Abs::Int(word)) => *word,
        _ => Word::Imm(0),
    })
}

/// The bits of `10^power`.
fn power_of_ten(context: &mut Context<'_>, power: Word) -> Word {
    let powers = (0..POWERS).map(|power| 10_f64.powi(power as i32).to_bits().to_le_bytes());
    let map = context.output.add_data("powers", powers.flatten().collect());
    let base = context.emit(Op::DataAddress { map, offset: 0 });
    let index = context.and(power, POWERS as i64 - 1);
    let offset = context.shl(index, 3);
    let offset = context.value(offset);
    let place = context.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
    context.load(place, 0, Size::B8, false)
}

/// One character. The variables: the offset, the automaton's state, the digits so far, how many of them are behind the point, the exponent,
/// 1 if that is negative, 1 if it is a float that cannot be read here. It leaves with all but the first two.
fn character(context: &mut Context<'_>, slice: Slice, variables: &[Word]) -> Result<Iteration> {
    use numerals::{EXPONENT_DIGITS, EXPONENT_SIGN, FRACTION, PREFIX};
    let mut iteration = Iteration::default();
    let [at, state, mantissa, scale, exponent, minus, is_long] = *variables else { return Ok(iteration) };
    let over = context.compare(CompareOp::SGe, at, slice.length);
    let (over, within) = context.split(over);
    iteration.leave_in(over, [mantissa, scale, exponent, minus, is_long].map(Abs::Int).to_vec());
    context.state = within;
    let byte = context.byte_at(slice, at)?;
    let next = step(context, state, byte);
    let at = context.add(at, 1);
    let other = turn_to(context, next, EXPONENT_DIGITS);
    let digit = context.and(byte, 15);
    let larger = times_ten(context, exponent, digit);
    let beyond = is_above(context, larger, LARGEST_EXPONENT);
    let larger = context.and(larger, 2 * LARGEST_EXPONENT - 1);
    let too_long = context.binary(BinaryOp::Or, is_long, beyond);
    iteration.again(context, vec![at, next, mantissa, scale, larger, minus, too_long]);
    context.state = other;
    let other = turn_to(context, next, EXPONENT_SIGN);
    let sign = context.compare_apart(CompareOp::Eq, byte, i64::from(b'-'));
    let sign = context.condition_word(sign);
    iteration.again(context, vec![at, next, mantissa, scale, exponent, sign, is_long]);
    context.state = other;
    let other = turn_to(context, next, PREFIX);
    iteration.again(context, vec![at, next, mantissa, scale, exponent, minus, Word::Imm(1)]);
    context.state = other;
    let (digit, none) = digit_of(context, byte);
    let larger = times_ten(context, mantissa, digit);
    let beyond = is_above(context, larger, 1 << 53);
    let too_long = context.binary(BinaryOp::Or, is_long, beyond);
    let behind = context.compare_apart(CompareOp::Eq, next, FRACTION as i64);
    let behind = context.condition_word(behind);
    let places = context.add(scale, behind);
    iteration.again(context, vec![at, next, larger, places, exponent, minus, too_long]);
    context.state = none;
    iteration.again(context, vec![at, next, mantissa, scale, exponent, minus, is_long]);
    Ok(iteration)
}

/// Goes on where the automaton has come to a state; gives the paths where it has not.
fn turn_to(context: &mut Context<'_>, next: Word, state: usize) -> crate::state::State {
    let is = context.compare_apart(CompareOp::Eq, next, state as i64);
    let (is, other) = context.split(is);
    context.state = is;
    other
}

fn times_ten(context: &mut Context<'_>, value: Word, digit: Word) -> Word {
    let value = context.binary(BinaryOp::Mul, value, 10);
    context.add(value, digit)
}

/// 1 where a value is above a limit, else 0.
fn is_above(context: &mut Context<'_>, value: Word, limit: i64) -> Word {
    let above = context.compare_apart(CompareOp::UGt, value, limit);
    context.condition_word(above)
}
