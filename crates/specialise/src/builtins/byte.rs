//! `string.byte` and `string.char` (Lua manual § 6.5).

use super::call::{Call, Row, returns, row};
use super::string::between;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{CompareOp, Size};

pub const ROWS: &[Row] = &[row("string.byte", byte), row("string.char", char)];

/// Bytes that one call gives at most, unless the string is known.
const MAX_BYTES: i64 = 32;

/// `s:byte([i [, j]])`.
fn byte(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let from = call.integer_or(context, 2, Word::Imm(1))?;
    let to = call.integer_or(context, 3, from)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    if let (Str::Const(text), Word::Imm(from), Word::Imm(to)) = (&text, from, to) {
        let bytes = super::string::part(text, from, to);
        return returns(context, bytes.iter().map(|byte| Abs::int(i64::from(*byte))).collect());
    }
    let slice = context.view_of(&text)?;
    if from == to { one_byte(context, slice, from) } else { several_bytes(context, slice, from, to) }
}

/// One position. Those from the string's start are looked at first.
fn one_byte(context: &mut Context<'_>, slice: Slice, at: Word) -> Result<Vec<Arm>> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    // Where the position is known, so is from where it counts.
    let known = at.constant();
    if known.is_none_or(|at| at >= 0) {
        let offset = context.sub(at, 1);
        let inside = context.compare_apart(CompareOp::ULt, offset, slice.length);
        let (inside, other) = context.split(inside);
        found.push(Arm { state: inside, values: vec![Abs::Int(offset)] });
        context.state = other;
    }
    let negative = match known {
        Some(at) => Cond::Known(at < 0),
        None => context.compare_apart(CompareOp::SLt, at, 0),
    };
    let (negative, beyond) = context.split(negative);
    missing.push(beyond);
    context.state = negative;
    if context.state.alive() {
        let offset = context.add(slice.length, at);
        let inside = context.compare_apart(CompareOp::ULt, offset, slice.length);
        let (inside, before) = context.split(inside);
        missing.push(before);
        found.push(Arm { state: inside, values: vec![Abs::Int(offset)] });
    }
    let mut arms = Vec::new();
    if let Some([Abs::Int(offset)]) = context.join(found)?.as_deref() {
        let byte = context.byte_at(slice, *offset)?;
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(byte)] });
    }
    context.enter(missing)?;
    arms.push(Arm { state: context.take_state(), values: vec![] });
    Ok(arms)
}

/// One arm for each number of bytes that there may be.
fn several_bytes(context: &mut Context<'_>, slice: Slice, from: Word, to: Word) -> Result<Vec<Arm>> {
    let most = most_bytes(context, slice.length, from, to);
    if most > MAX_BYTES {
        let help = "give two positions that are not far from each other, or take byte after byte in a loop";
        return context.unsupported("`string.byte` of that many bytes", help, Some("byte"));
    }
    let (before, count) = between(context, from, to, slice.length);
    let (mut arms, mut bytes) = (Vec::new(), Vec::new());
    for number in 0..=most {
        let all = match number == most {
            true => Cond::Known(true),
            false => context.compare_apart(CompareOp::SLe, count, number),
        };
        let (all, more) = context.split(all);
        arms.push(Arm { state: all, values: bytes.clone() });
        context.state = more;
        if !context.state.alive() {
            break;
        }
        let offset = context.add(before, number);
        let byte = context.byte_at(slice, offset)?;
        bytes.push(Abs::Int(byte));
    }
    arms.retain(|arm| arm.state.alive());
    Ok(arms)
}

/// How many bytes there are between two positions at most.
fn most_bytes(context: &Context<'_>, length: Word, from: Word, to: Word) -> i64 {
    let all = context.range(length).max;
    let between = match (from, to) {
        (Word::Imm(from), Word::Imm(to)) if (from < 0) == (to < 0) => {
            to.saturating_sub(from).saturating_add(1)
        }
        // From a position on there are the bytes up to the end, which no constant's address may go beyond.
        (Word::Imm(from), _) if from < 0 => from.saturating_neg(),
        (Word::Imm(from), _) => all.saturating_sub(from.max(1)).saturating_add(1),
        (_, Word::Imm(to)) if to >= 0 => to,
        (_, Word::Imm(to)) => all.saturating_add(to).saturating_add(1),
        (from, to) => match (context.constant_part(from), context.constant_part(to)) {
            ((root, a), (other, b)) if root == other => b.saturating_sub(a).saturating_add(1),
            _ => all,
        },
    };
    between.clamp(0, all.max(0))
}

/// `string.char(…)`.
fn char(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let mut bytes = Vec::new();
    for number in 1..=call.args.len() {
        let code = call.integer(context, number)?;
        let wrong = context.compare(CompareOp::UGt, code, 255);
        context.fail_if(wrong, |context| call.argument_error(context, number, "value out of range"));
        if !context.state.alive() {
            return Ok(vec![]);
        }
        bytes.push(code);
    }
    let known: Option<Vec<u8>> = bytes.iter().map(|byte| byte.constant().map(|byte| byte as u8)).collect();
    if let Some(known) = known {
        return context.only(Abs::text(known));
    }
    let length = bytes.len() as i64;
    let start = context.allocate(Word::Imm((length + 7) & !7))?;
    for (offset, byte) in bytes.into_iter().enumerate() {
        let place = context.add(start, offset as i64);
        let address = context.address(crate::value::Space::Scratch, place, 1)?;
        context.store(address.base, address.disp, Size::B1, byte);
    }
    returns(context, vec![Abs::Str(crate::formatting::scratch(start, Word::Imm(length)))])
}
