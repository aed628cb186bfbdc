//! `pkt:checksum(…)` and `pkt:fix_checksums()` (docs/packet.md).

use super::call::{Call, Row, returns, row};
use super::data::{argument_from, length_from, subject, writable_subject};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Object, Word};
use moonhook_ir::words::{PathState, Words};
use moonhook_library::own::data::{CHECKSUM, FIX_CHECKSUMS};
use moonhook_packet::Checksum;
use moonhook_packet::protocols::fix_checksums;

pub const ROWS: &[Row] = &[row(CHECKSUM, checksum), row(FIX_CHECKSUMS, fix)];

/// `checksum([offset [, length]])`.
fn checksum(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    let offset = call.integer_or(context, 2, Word::Imm(0))?;
    let length = length_from(context, call, &object, offset)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let sum = match object {
        Object::Argument => argument_sum(context, offset, length)?,
        _ => context.sum_of(offset, length)?,
    };
    let checksum = context.checksum_of(sum);
    context.only(Abs::Int(checksum))
}

/// Of the handler's second argument: `length` bytes of the two, from `offset` on.
fn argument_sum(context: &mut Context<'_>, offset: Word, length: Word) -> Result<Word> {
    if let Some(at) = context.given_argument()? {
        return context.sum_given(at, (offset, length));
    }
    let bytes = argument_from(context, offset)?;
    let bits = context.shl(length, 3);
    let more = context.shl(Word::Imm(1), bits);
    let mask = context.sub(more, 1);
    Ok(context.and(bytes, mask))
}

pub fn fix(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if writable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    context.before_packet_write()?;
    fix_checksums(context)?;
    context.forget_keys();
    returns(context, vec![])
}
