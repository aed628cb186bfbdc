//! The string library (Lua manual § 6.4).

use super::{Call, Row, returns, row};
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::memory::MAX_FRAME;
use crate::value::{Abs, Str, Word};
use moonhook_ir::CompareOp;

pub const ROWS: &[Row] = &[row("string.len", length), row("string.sub", sub)];

fn length(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let length = context.string_length(&text)?;
    returns(context, vec![Abs::Int(length)])
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
        return returns(context, vec![Abs::text(part(text, from, to))]);
    }
    let (space, start, size) = context.slice(&text)?;
    let first = position(context, from, size)?;
    let first = context.maximum(first, Word::Imm(1))?;
    let last = position(context, to, size)?;
    let last = context.minimum(last, size)?;
    let empty = context.compare(CompareOp::SGt, first, last);
    let (empty, some) = context.split(empty);
    context.state = some;
    let skipped = context.sub(first, 1);
    let start = context.add(start, skipped);
    let length = context.sub(last, skipped);
    let (start, length) = (context.and(start, MAX_FRAME), context.and(length, MAX_FRAME));
    let state = context.take_state();
    Ok(vec![
        Arm { state, values: vec![Abs::Str(Str::Slice { space, start, length })] },
        Arm { state: empty, values: vec![Abs::text("")] },
    ])
}

/// The bytes of a known string between two positions.
pub fn part(text: &[u8], from: i64, to: i64) -> &[u8] {
    let size = text.len() as i64;
    let place = |position: i64| if position < 0 { (size + position + 1).max(0) } else { position };
    let (first, last) = (place(from).max(1), place(to).min(size));
    if first <= last { &text[first as usize - 1..last as usize] } else { b"" }
}

/// A position counted from the start: negative ones count from the end.
pub fn position(context: &mut Context<'_>, position: Word, size: Word) -> Result<Word> {
    match position {
        Word::Imm(imm) if imm >= 0 => Ok(position),
        Word::Imm(imm) => {
            let counted = context.add(size, imm.saturating_add(1));
            context.maximum(counted, Word::Imm(0))
        }
        position => {
            let negative = context.compare(CompareOp::SLt, position, 0);
            let (then, otherwise) = context.split(negative);
            context.state = then;
            let counted = context.add(size, position);
            let counted = context.add(counted, 1);
            let counted = context.maximum(counted, Word::Imm(0))?;
            let state = context.take_state();
            let arms = vec![
                Arm { state, values: vec![Abs::Int(counted)] },
                Arm { state: otherwise, values: vec![Abs::Int(position)] },
            ];
            Ok(match context.join(arms)?.as_deref() {
                Some([Abs::Int(word)]) => *word,
                _ => position,
            })
        }
    }
}
