//! `string.lower`, `upper`, `reverse` and `rep` (Lua manual § 6.5), eight bytes at a time.

use super::call::{Call, Row, row};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Case, Space, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, UnaryOp};

pub const ROWS: &[Row] = &[
    row("string.lower", |context, call| cased(context, call, Case::Lower)),
    row("string.upper", |context, call| cased(context, call, Case::Upper)),
    row("string.reverse", reverse),
    row("string.rep", rep),
];

/// The text with its letters in a case.
fn cased(context: &mut Context<'_>, call: &Call, case: Case) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    if let Str::Const(text) = &text {
        let bytes: Vec<u8> = text.iter().map(|byte| case.of(*byte)).collect();
        return context.only(Abs::text(bytes));
    }
    // The letters of addresses are in lower case, and those of IPv4 have none.
    let is_kept = match text {
        Str::Ipv4(_) => true,
        Str::Mac(_) | Str::Ipv6(..) => case == Case::Lower,
        _ => false,
    };
    if is_kept {
        return context.only(Abs::Str(text));
    }
    // A letter that was in one case is now in the other, whatever it was first.
    let slice = context.view_of(&text)?;
    let text = Slice { case: Some(case), ..slice }.text();
    let text = if context.writes_cases() { context.copied(text)? } else { text };
    context.only(Abs::Str(text))
}

fn reverse(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    if let Str::Const(text) = &text {
        return context.only(Abs::text(text.iter().rev().copied().collect::<Vec<u8>>()));
    }
    let slice = context.slice_of(&text)?;
    let text = context.text_of_words(slice.length, &mut |context, _, left| {
        let whole = context.compare(CompareOp::SGe, left, 8);
        let (whole, part) = context.split(whole);
        context.state = whole;
        let place = context.add(slice.start, left);
        let place = context.sub(place, 8);
        let address = context.address(slice.space, place, 8)?;
        let word = context.load_at(address, moonhook_ir::Size::B8, false);
        let whole = context.take_state();
        context.state = part;
        // What is left is the text's start; its bytes are moved to the word's end, which comes first when it is swapped.
        let rest = context.last_bytes(slice.space, slice.start, left)?;
        let bits = context.shl(left, 3);
        let unused = context.sub(64, bits);
        let rest = context.shl(rest, unused);
        let part = context.take_state();
        let word = context.either(whole, word, part, rest)?;
        Ok(context.unary(UnaryOp::Swap64, word))
    })?;
    context.only(Abs::Str(text))
}

/// `s:rep(n [, sep])`.
fn rep(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let count = call.integer(context, 2)?;
    let separator = match call.is_none_or_nil(3) {
        true => Some(crate::formatting::constant("")),
        false => call.string(context, 3)?,
    };
    let (Some(separator), true) = (separator, context.state.alive()) else { return Ok(vec![]) };
    if let Word::Imm(..=0) = count {
        return context.only(Abs::text(""));
    }
    if count == Word::Imm(1) {
        return context.only(Abs::Str(text));
    }
    let (text, separator) = (context.slice_of(&text)?, context.slice_of(&separator)?);
    let unit = context.add(text.length, separator.length);
    let none = context.compare(CompareOp::SLe, count, 0);
    let (none, some) = context.split(none);
    context.state = some;
    let empty = context.compare(CompareOp::Eq, unit, 0);
    let (empty, some) = context.split(empty);
    context.state = some;
    let mut arms = Vec::new();
    if context.state.alive() {
        let repeated = repeated(context, text, separator, unit, count)?;
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Str(repeated)] });
    }
    context.enter(vec![none, empty])?;
    if context.state.alive() {
        arms.push(Arm { state: context.take_state(), values: vec![Abs::text("")] });
    }
    Ok(arms)
}

/// `count` (at least 1) times the text, with the separator between; `unit` (at least 1) is the length of both.
fn repeated(
    context: &mut Context<'_>,
    text: Slice,
    separator: Slice,
    unit: Word,
    count: Word,
) -> Result<Str> {
    let most = context.binary(BinaryOp::UDiv, i64::MAX, unit);
    let too_large = context.compare(CompareOp::SGt, count, most);
    context.check(too_large, || Message::new("resulting string too large"));
    let total = context.binary(BinaryOp::Mul, unit, count);
    let total = context.sub(total, separator.length);
    let start = context.allocate(total)?;
    let arms = context.repeat(&[count, start], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (left, to) = (variables[0], variables[1]);
        let copy = |context: &mut Context<'_>, from: Slice, to: Word| {
            context.copy_bytes(from.space, from.start, from.length, &mut |context, at| {
                let place = context.add(to, at);
                context.address(Space::Scratch, place, 8)
            })?;
            Ok(context.add(to, from.length))
        };
        let to = copy(context, text, to)?;
        let left = context.sub(left, 1);
        let done = context.compare(CompareOp::SLe, left, 0);
        let (done, more) = context.split(done);
        iteration.leave_in(done, vec![]);
        context.state = more;
        let to = if separator.length == Word::Imm(0) { to } else { copy(context, separator, to)? };
        iteration.again(context, vec![left, to]);
        Ok(iteration)
    })?;
    context.join(arms)?;
    Ok(crate::formatting::scratch(start, total))
}
