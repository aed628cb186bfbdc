//! Elements of arrays in the kernel's structures, counted from 0 as in C.

use super::values::in_memory;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_btf::{Kind, TypeId};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use moonhook_snapshot::Snapshot;

/// Elements of an array; `None` where the type is none.
pub fn length(snapshot: &Snapshot, type_id: u32) -> Option<i64> {
    match super::types_of(snapshot)?.kind(TypeId(type_id)) {
        Kind::Array { length, .. } => Some(length.into()),
        _ => None,
    }
}

/// `array[number]`, of the array of a type at an address: nil outside of it. `None` where the type is no array.
pub fn element(
    context: &mut Context<'_>,
    (id, address): (TypeId, Word),
    number: Word,
) -> Result<Option<Vec<Arm>>> {
    let Some(types) = super::types_of(context.snapshot).cloned() else { return Ok(None) };
    let Kind::Array { of, length } = types.kind(id) else { return Ok(None) };
    let (content, each) = (types.content(of), i64::from(types.size(of)));
    let outside = context.compare(CompareOp::UGe, number, i64::from(length));
    let (outside, inside) = context.split(outside);
    let mut arms = Vec::new();
    context.state = outside;
    if context.state.alive() {
        arms.extend(context.only(Abs::Nil)?);
    }
    context.state = inside;
    if context.state.alive() {
        let offset = context.binary(BinaryOp::Mul, number, each);
        let place = context.add(address, offset);
        arms.extend(in_memory(context, place, content, "[]")?);
    }
    Ok(Some(arms))
}
