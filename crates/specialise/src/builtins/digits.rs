//! `tonumber` with a base (Lua manual § 6.2).

use super::call::Call;
use super::number::{entry, signed};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use moonhook_library::class::SPACES;

/// What characters are in a numeral with a base: the value of a digit or letter, or one of these.
const SPACE: u8 = 64;
const PLUS: u8 = 65;
const MINUS: u8 = 66;
const OTHER: u8 = 67;

fn digit_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'z' => byte - b'a' + 10,
        b'A'..=b'Z' => byte - b'A' + 10,
        b'+' => PLUS,
        b'-' => MINUS,
        byte if SPACES.contains(&byte) => SPACE,
        _ => OTHER,
    }
}

/// The value of a hexadecimal digit.
pub fn hex(byte: u8) -> Option<u8> {
    Some(digit_of(byte)).filter(|digit| *digit < 16)
}

/// The value of a digit or letter; something above those for other characters.
pub fn value_of(context: &mut Context<'_>, byte: Word) -> Word {
    let map = context.output.add_data("digits", (0..=255).map(digit_of).collect());
    entry(context, map, 0, byte, 255)
}

/// `tonumber(text, base)` (`luaB_tonumber`, `l_str2int`, lbaselib.c).
pub fn in_base(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let base = call.integer(context, 2)?;
    let text = match call.arg(1) {
        Abs::Str(text) => text,
        _ if !context.state.alive() => return Ok(vec![]),
        _ => {
            call.wrong_type(context, 1, "string");
            return Ok(vec![]);
        }
    };
    let shifted = context.sub(base, 2);
    let wrong = context.compare(CompareOp::UGt, shifted, 34);
    context.fail_if(wrong, |context| call.argument_error(context, 2, "base out of range"));
    if !context.state.alive() {
        return Ok(vec![]);
    }
    if let (Str::Const(text), Word::Imm(base)) = (&text, base) {
        return context.only(known_in_base(text, base).map_or(Abs::Nil, Abs::int));
    }
    let slice = context.slice_of(&text)?;
    digits_in_base(context, slice, base)
}

fn known_in_base(text: &[u8], base: i64) -> Option<i64> {
    let start = text.iter().position(|byte| !SPACES.contains(byte))?;
    let end = text.iter().rposition(|byte| !SPACES.contains(byte))? + 1;
    let (negative, digits) = match &text[start..end] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.iter().any(|byte| i64::from(digit_of(*byte)) >= base) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0i64, |value, byte| value.wrapping_mul(base).wrapping_add(i64::from(digit_of(*byte))));
    Some(if negative { value.wrapping_neg() } else { value })
}

/// The automaton's states: before the numeral, behind its sign, in its digits, behind them.
const BEFORE: i64 = 0;
const SIGNED: i64 = 1;
const DIGITS: i64 = 2;
const BEHIND: i64 = 3;

fn digits_in_base(context: &mut Context<'_>, slice: Slice, base: Word) -> Result<Vec<Arm>> {
    let initial = [0, BEFORE, 0, 0].map(Word::Imm);
    let exits = context
        .repeat(&initial, &mut |context, variables| based_character(context, slice, base, variables))?;
    let (whole, wrong): (Vec<Arm>, Vec<Arm>) = exits.into_iter().partition(|arm| !arm.values.is_empty());
    let mut failed: Vec<State> = wrong.into_iter().map(|arm| arm.state).collect();
    let mut arms = Vec::new();
    if let Some([Abs::Int(state), Abs::Int(value), Abs::Int(negative)]) = context.join(whole)?.as_deref() {
        let (value, negative) = (*value, *negative);
        let none = context.compare(CompareOp::ULt, *state, DIGITS);
        context.leave_if(none, &mut failed);
        let value = signed(context, value, negative);
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(value)] });
    }
    context.enter(failed)?;
    arms.push(Arm { state: context.take_state(), values: vec![Abs::Nil] });
    Ok(arms)
}

/// One turn of the automaton. Its variables: the offset, the state, the value so far, 1 behind a minus. It leaves with all but
/// the first, or with nothing where the text is no numeral.
fn based_character(
    context: &mut Context<'_>,
    slice: Slice,
    base: Word,
    variables: &[Word],
) -> Result<Iteration> {
    let mut iteration = Iteration::default();
    let [at, state, value, negative] = *variables else { return Ok(iteration) };
    let over = context.compare(CompareOp::SGe, at, slice.length);
    let (over, within) = context.split(over);
    iteration.leave_in(over, [state, value, negative].map(Abs::Int).to_vec());
    context.state = within;
    let byte = context.byte_at(slice, at)?;
    let at = context.add(at, 1);
    let digit = value_of(context, byte);
    let is_digit = context.compare_apart(CompareOp::SLt, digit, base);
    let (is_digit, other) = context.split(is_digit);
    context.state = is_digit;
    let misplaced = context.compare_apart(CompareOp::Eq, state, BEHIND);
    leave_wrong(context, &mut iteration, misplaced);
    let larger = context.binary(BinaryOp::Mul, value, base);
    let larger = context.add(larger, digit);
    iteration.again(context, vec![at, Word::Imm(DIGITS), larger, negative]);
    context.state = other;
    let space = context.compare_apart(CompareOp::Eq, digit, i64::from(SPACE));
    let (space, other) = context.split(space);
    context.state = space;
    let misplaced = context.compare_apart(CompareOp::Eq, state, SIGNED);
    leave_wrong(context, &mut iteration, misplaced);
    let before = context.compare_apart(CompareOp::Eq, state, BEFORE);
    let (before, behind) = context.split(before);
    let next = context.either(before, Word::Imm(BEFORE), behind, Word::Imm(BEHIND))?;
    iteration.again(context, vec![at, next, value, negative]);
    context.state = other;
    let misplaced = context.compare_apart(CompareOp::Ne, state, BEFORE);
    leave_wrong(context, &mut iteration, misplaced);
    let sign = context.sub(digit, i64::from(PLUS));
    let no_sign = context.compare_apart(CompareOp::UGt, sign, 1);
    leave_wrong(context, &mut iteration, no_sign);
    iteration.again(context, vec![at, Word::Imm(SIGNED), value, sign]);
    Ok(iteration)
}

/// Leaves the loop with nothing where something is wrong.
pub fn leave_wrong(context: &mut Context<'_>, iteration: &mut Iteration, wrong: Cond) {
    let (wrong, fine): (State, State) = context.split(wrong);
    iteration.leave_in(wrong, vec![]);
    context.state = fine;
}
