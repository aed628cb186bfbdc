//! Removes what nobody needs: operations without effect whose results are unused (loads included), block parameters that
//! only feed each other, stores to slots that are never read, and slots that are never mentioned.
//!
//! Guarantees that all remaining values can influence a branch, a result, a store or a call. Does not remove calls.

use crate::Around;
use crate::values::{Definition, definitions};
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let stores = remove_dead_stores(function);
    let live = needed_values(function);
    let mut changed = stores;
    for block in &mut function.blocks {
        let before = block.insts.len();
        block.insts.retain(|inst| match inst.result {
            Some(result) => live[result.index()] || inst.op.has_effect(),
            None => true,
        });
        changed |= block.insts.len() != before;
    }
    changed |= remove_params(function, &live);
    changed | remove_slots(function)
}

/// Removes unused parameters, and the arguments that jumps pass for them.
fn remove_params(function: &mut Function, live: &[bool]) -> bool {
    let unused = |block: &BlockData| block.params.iter().any(|param| !live[param.index()]);
    let keep: Vec<Option<Vec<bool>>> = function
        .blocks
        .iter()
        .map(|block| {
            let keep = || block.params.iter().map(|param| live[param.index()]).collect();
            unused(block).then(keep)
        })
        .collect();
    for (block, own) in function.blocks.iter_mut().zip(&keep) {
        if let Some(own) = own {
            retain(&mut block.params, own);
        }
        if let Some((terminator, _)) = &mut block.terminator {
            terminator.for_each_target_mut(|target| {
                if let Some(keep) = &keep[target.block.index()] {
                    retain(&mut target.args, keep);
                }
            });
        }
    }
    keep.iter().any(Option::is_some)
}

fn retain(values: &mut Vec<Value>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| keep.next().copied().unwrap_or(true));
}

/// For each value the slot whose address it is (plus a constant), if any.
fn slot_addresses(function: &Function) -> Vec<Option<Slot>> {
    let mut slots = vec![None; function.value_count as usize];
    let definitions = definitions(function);
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        if let (Op::SlotAddress(slot), Some(result)) = (&inst.op, inst.result) {
            slots[result.index()] = Some(*slot);
        }
    }
    for (value, definition) in definitions.iter().enumerate() {
        if let Definition::Binary(BinaryOp::Add, base, Operand::Imm(_)) = definition {
            slots[value] = slots[value].or(slots[base.index()]);
        }
    }
    slots
}

/// Removes stores to slots of which nothing but such stores uses the address.
fn remove_dead_stores(function: &mut Function) -> bool {
    if function.slots.is_empty() {
        return false;
    }
    let addresses = slot_addresses(function);
    let mut read = vec![false; function.slots.len()];
    let mut escape = |value: Value| {
        if let Some(slot) = addresses[value.index()] {
            read[slot.index()] = true;
        }
    };
    for block in &function.blocks {
        for inst in &block.insts {
            match (&inst.op, inst.result) {
                (Op::Store { value, .. }, _) => value.value().into_iter().for_each(&mut escape),
                (_, Some(result)) if addresses[result.index()].is_some() => {}
                (op, _) => op.for_each_value(&mut escape),
            }
        }
        if let Some((terminator, _)) = &block.terminator {
            terminator.for_each_value(&mut escape);
        }
    }
    let dead = |op: &Op| match op {
        Op::Store { base, .. } => addresses[base.index()].is_some_and(|slot| !read[slot.index()]),
        _ => false,
    };
    let mut changed = false;
    for block in &mut function.blocks {
        let before = block.insts.len();
        block.insts.retain(|inst| !dead(&inst.op));
        changed |= block.insts.len() != before;
    }
    changed
}

/// Removes slots that no instruction names, and renumbers the others.
fn remove_slots(function: &mut Function) -> bool {
    let mut used = vec![false; function.slots.len()];
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        if let Op::SlotAddress(slot) = inst.op {
            used[slot.index()] = true;
        }
    }
    if used.iter().all(|used| *used) {
        return false;
    }
    let mut next = 0;
    let mut number = vec![0; used.len()];
    for (number, used) in number.iter_mut().zip(&used) {
        *number = next;
        next += *used as u32;
    }
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        if let Op::SlotAddress(slot) = &mut inst.op {
            *slot = Slot(number[slot.index()]);
        }
    }
    let mut used = used.iter();
    function.slots.retain(|_| used.next().copied().unwrap_or(true));
    true
}
