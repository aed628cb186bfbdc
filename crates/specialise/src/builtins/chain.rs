//! What functions of `eclat.chain` call: a chain of eCLAT, with C's numbers.

use super::call::{Call, Row, row};
use crate::chains;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Object};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_library::own::eclat::CALL;

pub const ROWS: &[Row] = &[row(CALL.name, emit)];

/// Arguments before those of the chain: its number and the packet.
const BEFORE: usize = 2;

fn emit(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let number = call.integer(context, 1)?;
    if !call.is_in_memory(context, 2) && !matches!(call.arg(2), Abs::Object(Object::Packet)) {
        call.wrong_type(context, 2, "packet");
        return Ok(vec![]);
    }
    let mut arms = Vec::new();
    let snapshot = context.snapshot;
    for (index, loaded) in snapshot.chains.iter().enumerate() {
        let is_it = context.compare(CompareOp::Eq, number, index as i64);
        let (it, other) = context.split(is_it);
        context.state = it;
        if context.alive() {
            let mut arguments = Vec::new();
            for argument in 1..=loaded.script.chains[loaded.number].parameters {
                arguments.push(call.integer(context, BEFORE + argument)?);
            }
            let outside = context.code.loc;
            let given = chains::lower(context, &loaded.script, loaded.number, &arguments)?;
            context.code.loc = outside;
            arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(given)] });
        }
        context.state = other;
    }
    // There is no other number: only functions of `eclat.chain` call this.
    if context.alive() {
        arms.push(Arm { state: context.take_state(), values: vec![Abs::int(0)] });
    }
    Ok(arms)
}
