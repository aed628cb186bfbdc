//! The value that a call of a handler keeps, for the library's own Lua.

use super::call::{Call, Row, returns};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::Abs;
use moonhook_library::own::kept::{KEEP, KEPT};

pub const ROWS: &[Row] = &[
    Row { name: KEEP.name, any_type: true, emit: keep },
    Row { name: KEPT.name, any_type: true, emit: kept },
];

/// The place of the variable that it is: no code has it.
const PLACE: [usize; 1] = [usize::MAX];

fn keep(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let cell = context.numbering.cell(PLACE.to_vec());
    context.state.cells.insert(cell, call.arg(1));
    returns(context, vec![])
}

fn kept(context: &mut Context<'_>, _: &Call) -> Result<Vec<Arm>> {
    let cell = context.numbering.cell(PLACE.to_vec());
    let value = context.state.cells.get(&cell).cloned().unwrap_or(Abs::Nil);
    context.only(value)
}
