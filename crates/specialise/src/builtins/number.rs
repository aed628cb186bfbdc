//! `tonumber` (Lua manual § 6.2): known texts are converted now, others by automata that take a byte at a time.

use super::call::{Call, Row, row};
use super::decimal;
use super::digits::in_base;
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::loops::Iteration;
use crate::numerals::Numeral;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_library::class::SPACES;

pub const ROWS: &[Row] = &[row("tonumber", to_number)];

/// Columns of an automaton's table.
const CLASSES: usize = 16;

fn to_number(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if !call.is_none_or_nil(2) {
        return in_base(context, call);
    }
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("tonumber"));
        return Ok(vec![]);
    }
    match call.arg(1) {
        value @ (Abs::Int(_) | Abs::Float(_)) => context.only(value),
        Abs::Str(text) => of_text(context, &text),
        _ => context.only(Abs::Nil),
    }
}

/// The number that a text is the numeral of, or nil; of texts made at packet time, an error where it is that of a float with many digits.
pub fn of_text(context: &mut Context<'_>, text: &Str) -> Result<Vec<Arm>> {
    if let Str::Const(text) = text {
        return match Numeral::of(text) {
            None => context.only(Abs::Nil),
            Some(Numeral::Integer(integer)) => context.only(Abs::int(integer)),
            Some(Numeral::Float(float)) => context.only(Abs::float(float)),
            Some(Numeral::HexFloat) => {
                let what = "reading a float in hexadecimal".to_string();
                let help = "write the number without quotes".to_string();
                context.refuse(LowerErrorKind::Float { what, help }, Some("tonumber"))
            }
        };
    }
    let slice = context.slice_of(text)?;
    numeral(context, slice)
}

/// An integer that has no room in one is a float of 19 digits at least.
fn too_large() -> Message {
    Message::new("integers beyond 64 bits cannot be read from text in expanded code")
}

/// States of the automaton for numerals without a base (`l_str2int`, `l_str2d`, lobject.c).
pub mod numerals {
    pub const START: usize = 0;
    pub const SIGN: usize = 1;
    pub const ZERO: usize = 2;
    pub const DECIMAL: usize = 3;
    pub const INTEGER_END: usize = 4;
    pub const PREFIX: usize = 5;
    pub const HEX: usize = 6;
    pub const POINT: usize = 7;
    pub const FRACTION: usize = 8;
    pub const EXPONENT: usize = 9;
    pub const EXPONENT_SIGN: usize = 10;
    pub const EXPONENT_DIGITS: usize = 11;
    pub const FLOAT_END: usize = 12;
    pub const HEX_POINT: usize = 13;
    pub const HEX_FRACTION: usize = 14;
    pub const WRONG: usize = 15;
}

/// The class of each byte, and behind them the next state for each state and class.
fn numeral_table() -> Vec<u8> {
    use numerals::*;
    // 0 other, 1 space, 2 sign, 3 zero, 4 other digits, 5 e, 6 other hexadecimal letters, 7 x, 8 p, 9 point.
    let class = |byte: u8| match byte {
        byte if SPACES.contains(&byte) => 1,
        b'+' | b'-' => 2,
        b'0' => 3,
        b'1'..=b'9' => 4,
        b'e' | b'E' => 5,
        b'a'..=b'f' | b'A'..=b'F' => 6,
        b'x' | b'X' => 7,
        b'p' | b'P' => 8,
        b'.' => 9,
        _ => 0,
    };
    let next = |state: usize, class: usize| match (state, class) {
        (START, 1) => START,
        (START, 2) => SIGN,
        (START | SIGN, 3) => ZERO,
        (START | SIGN, 4) | (ZERO | DECIMAL, 3 | 4) => DECIMAL,
        (START | SIGN, 9) => POINT,
        (ZERO, 7) => PREFIX,
        (ZERO | DECIMAL, 9) | (POINT | FRACTION, 3 | 4) => FRACTION,
        (ZERO | DECIMAL | FRACTION, 5) | (HEX | HEX_FRACTION, 8) => EXPONENT,
        (ZERO | DECIMAL | HEX | INTEGER_END, 1) => INTEGER_END,
        (PREFIX | HEX, 3..=6) => HEX,
        (PREFIX, 9) => HEX_POINT,
        (HEX, 9) | (HEX_POINT | HEX_FRACTION, 3..=6) => HEX_FRACTION,
        (EXPONENT, 2) => EXPONENT_SIGN,
        (EXPONENT | EXPONENT_SIGN | EXPONENT_DIGITS, 3 | 4) => EXPONENT_DIGITS,
        (FRACTION | HEX_FRACTION | EXPONENT_DIGITS | FLOAT_END, 1) => FLOAT_END,
        _ => WRONG,
    };
    table(&class, WRONG + 1, &next)
}

fn table(class: &dyn Fn(u8) -> u8, states: usize, next: &dyn Fn(usize, usize) -> usize) -> Vec<u8> {
    let classes = (0..=255).map(class);
    let rows = (0..states).flat_map(|state| (0..CLASSES).map(move |class| (state, class)));
    classes.chain(rows.map(|(state, class)| next(state, class) as u8)).collect()
}

/// The byte of a table at an offset that is masked to `mask`.
pub fn entry(context: &mut Context<'_>, map: ir::MapId, base: u32, offset: Word, mask: i64) -> Word {
    let base = context.emit(Op::DataAddress { map, offset: base });
    let offset = context.and(offset, mask);
    let offset = context.value(offset);
    let place = context.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
    context.load(place, 0, Size::B1, false)
}

/// The automaton's next state, after a byte.
pub fn step(context: &mut Context<'_>, state: Word, byte: Word) -> Word {
    let map = context.output.add_data("numerals", numeral_table());
    let class = entry(context, map, 0, byte, 255);
    let row = context.shl(state, 4);
    let index = context.add(row, class);
    entry(context, map, 256, index, 255)
}

/// The value of a digit or letter as a hexadecimal digit.
fn hex_digit(context: &mut Context<'_>, byte: Word) -> Word {
    let low = context.and(byte, 15);
    let letter = context.shr(byte, 6);
    let letter = context.binary(BinaryOp::Mul, letter, 9);
    context.add(low, letter)
}

/// A decimal digit's value, and the paths where a byte is none.
pub fn digit_of(context: &mut Context<'_>, byte: Word) -> (Word, State) {
    let digit = context.sub(byte, i64::from(b'0'));
    let none = context.compare_apart(CompareOp::UGt, digit, 9);
    let (none, is) = context.split(none);
    context.state = is;
    (digit, none)
}

/// A text of packet time. One arm with the integer, one with the float, one with nil.
fn numeral(context: &mut Context<'_>, slice: Slice) -> Result<Vec<Arm>> {
    use numerals::*;
    let initial = [0, START as i64, 0, 0, 0].map(Word::Imm);
    let arms =
        context.repeat(&initial, &mut |context, variables| numeral_character(context, slice, variables))?;
    let Some(values) = context.join(arms)? else { return Ok(vec![]) };
    let [Abs::Int(state), Abs::Int(value), Abs::Int(negative), Abs::Int(large)] = values[..] else {
        return Ok(vec![]);
    };
    let floats = paths_in(context, state, [FRACTION, EXPONENT_DIGITS, FLOAT_END, HEX_FRACTION]);
    let integers = paths_in(context, state, [ZERO, DECIMAL, HEX, INTEGER_END]);
    let mut arms = vec![Arm { state: context.take_state(), values: vec![Abs::Nil] }];
    context.enter(integers)?;
    let large = context.compare(CompareOp::Ne, large, 0);
    context.check(large, too_large);
    let value = signed(context, value, negative);
    arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(value)] });
    context.enter(floats)?;
    let float = decimal::read(context, slice, negative)?;
    arms.push(Arm { state: context.take_state(), values: vec![Abs::Float(float)] });
    Ok(arms)
}

/// The paths where the automaton is in one of these states; goes on where it is in none.
fn paths_in(context: &mut Context<'_>, state: Word, wanted: [usize; 4]) -> Vec<State> {
    let mut paths = Vec::new();
    for wanted in wanted {
        let is = context.compare(CompareOp::Eq, state, wanted as i64);
        let (is, other) = context.split(is);
        paths.push(is);
        context.state = other;
    }
    paths
}

/// One turn of the automaton. Its variables: the offset, the state, the value so far, 1 behind a minus, 1 if the value is too
/// large for an integer. It leaves with all but the first.
fn numeral_character(context: &mut Context<'_>, slice: Slice, variables: &[Word]) -> Result<Iteration> {
    use numerals::*;
    let mut iteration = Iteration::default();
    let [at, state, value, negative, large] = *variables else { return Ok(iteration) };
    let over = context.compare(CompareOp::SGe, at, slice.length);
    let (over, within) = context.split(over);
    iteration.leave_in(over, [state, value, negative, large].map(Abs::Int).to_vec());
    context.state = within;
    let byte = context.byte_at(slice, at)?;
    let next = step(context, state, byte);
    let wrong = context.compare_apart(CompareOp::Eq, next, WRONG as i64);
    let (wrong, fine) = context.split(wrong);
    iteration.leave_in(wrong, [WRONG as i64, 0, 0, 0].map(Abs::int).to_vec());
    context.state = fine;
    let at = context.add(at, 1);
    let turn_to = |context: &mut Context<'_>, state: usize| {
        let is = context.compare_apart(CompareOp::Eq, next, state as i64);
        let (is, other) = context.split(is);
        context.state = is;
        other
    };
    let other = turn_to(context, DECIMAL);
    let (larger, too_large) = decimal_digit(context, byte, value, negative, large);
    iteration.again(context, vec![at, next, larger, negative, too_large]);
    context.state = other;
    let other = turn_to(context, HEX);
    let digit = hex_digit(context, byte);
    let larger = context.shl(value, 4);
    let larger = context.add(larger, digit);
    iteration.again(context, vec![at, next, larger, negative, large]);
    context.state = other;
    let other = turn_to(context, SIGN);
    let minus = context.compare_apart(CompareOp::Eq, byte, i64::from(b'-'));
    let minus = context.condition_word(minus);
    iteration.again(context, vec![at, next, value, minus, large]);
    context.state = other;
    iteration.again(context, vec![at, next, value, negative, large]);
    Ok(iteration)
}

/// Appends a decimal digit: the value, and whether it has become too large for an integer.
fn decimal_digit(
    context: &mut Context<'_>,
    byte: Word,
    value: Word,
    negative: Word,
    large: Word,
) -> (Word, Word) {
    let digit = context.and(byte, 15);
    // The largest value is 2^63 - 1, or 2^63 behind a minus; wrapping comes after that.
    let limit = context.add(negative, i64::MAX);
    let rest = context.sub(limit, digit);
    let rest = context.binary(BinaryOp::UDiv, rest, 10);
    let beyond = context.compare_apart(CompareOp::UGt, value, rest);
    let beyond = context.condition_word(beyond);
    let large = context.binary(BinaryOp::Or, large, beyond);
    let value = context.binary(BinaryOp::Mul, value, 10);
    (context.add(value, digit), large)
}

/// The value, negated if `negative` is 1.
pub fn signed(context: &mut Context<'_>, value: Word, negative: Word) -> Word {
    let mask = context.binary(BinaryOp::Sub, 0, negative);
    let flipped = context.binary(BinaryOp::Xor, value, mask);
    context.add(flipped, negative)
}
