//! Tests whether a byte is in a set.

use super::parse::Set;
use crate::code::Cond;
use crate::context::{Context, Result};
use crate::state::State;
use crate::value::Word;
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// Splits the current state: where the byte is in the set, and where it is not. A few runs are compared; other sets are a
/// table of 256 bytes.
pub fn split_set(context: &mut Context<'_>, byte: Word, set: &Set) -> Result<(State, State)> {
    let runs = set.runs();
    let gaps = set.complement().runs();
    let cond = match (runs.as_slice(), gaps.as_slice()) {
        ([], _) => Cond::Known(false),
        (_, []) => Cond::Known(true),
        ([run], _) => in_run(context, byte, *run),
        (_, [gap]) => {
            let cond = in_run(context, byte, *gap);
            let (inside, outside) = context.split(cond);
            return Ok((outside, inside));
        }
        _ => {
            let table: Vec<u8> = (0..=255).map(|byte| u8::from(set.contains(byte))).collect();
            let map = context.add_data("class", table);
            let base = context.emit(moonhook_ir::Op::DataAddress { map, offset: 0 });
            let byte = context.and(byte, 255);
            let byte = context.value(byte);
            let place = context.emit(moonhook_ir::Op::Binary(BinaryOp::Add, base, byte.into()));
            let flag = context.load(place, 0, Size::B1, false);
            context.compare(CompareOp::Ne, flag, 0)
        }
    };
    Ok(context.split(cond))
}

fn in_run(context: &mut Context<'_>, byte: Word, (first, last): (u8, u8)) -> Cond {
    if first == last {
        return context.compare(CompareOp::Eq, byte, i64::from(first));
    }
    let offset = context.sub(byte, i64::from(first));
    context.compare(CompareOp::ULe, offset, i64::from(last - first))
}
