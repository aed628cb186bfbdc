//! The string library (Lua manual § 6.5).

use super::call::{Call, Row, row};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::BinaryOp;
use moonhook_ir::words::{PathState, Words};
use moonhook_packet::MAX_FRAME;

pub const ROWS: &[Row] = &[row("string.len", length), row("string.sub", sub)];

fn length(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let length = context.string_length(&text)?;
    context.only(Abs::Int(length))
}

/// `s:sub(i [, j])`: positions from 1, negative ones from the end.
fn sub(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let from = call.integer(context, 2)?;
    let to = call.integer_or(context, 3, Word::Imm(-1))?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    if let (Str::Const(text), Word::Imm(from), Word::Imm(to)) = (&text, from, to) {
        return context.only(Abs::text(part(text, from, to)));
    }
    let whole = context.view_of(&text)?;
    let (skipped, length) = between(context, from, to, whole.length);
    let start = context.add(whole.start, skipped);
    let (start, length) = (context.and(start, MAX_FRAME), context.and(length, MAX_FRAME));
    context.only(Abs::Str(Slice { start, length, ..whole }.text()))
}

/// What lies between two positions of a string of `size` bytes: how many bytes are before it, and how many are in it.
/// There is no branch in it, whatever the positions are.
pub fn between(context: &mut Context<'_>, from: Word, to: Word, size: Word) -> (Word, Word) {
    let first = position(context, from, size);
    let first = context.larger(first, Word::Imm(1));
    let skipped = context.sub(first, 1);
    let skipped = context.smaller(skipped, size);
    let last = position(context, to, size);
    let last = context.smaller(last, size);
    let length = context.sub(last, skipped);
    (skipped, context.larger(length, Word::Imm(0)))
}

/// The bytes of a known string between two positions.
pub fn part(text: &[u8], from: i64, to: i64) -> &[u8] {
    let size = text.len() as i64;
    let place = |position: i64| if position < 0 { (size + position + 1).max(0) } else { position };
    let (first, last) = (place(from).max(1), place(to).min(size));
    if first <= last { &text[first as usize - 1..last as usize] } else { b"" }
}

/// A position counted from the start: negative ones count from the end.
fn position(context: &mut Context<'_>, position: Word, size: Word) -> Word {
    match position {
        Word::Imm(0..) => position,
        Word::Imm(imm) => context.add(size, imm.saturating_add(1)),
        position => {
            let negative = context.binary(BinaryOp::AShr, position, 63);
            let behind = context.add(size, 1);
            let counted = context.and(behind, negative);
            context.add(position, counted)
        }
    }
}
