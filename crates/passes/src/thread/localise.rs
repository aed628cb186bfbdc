//! Values of a block that only the ways behind its branch use become parameters of those ways.

use moonhook_ir::*;

/// Whether all values of the block are used in it only.
pub(super) fn is_private(block: &BlockData, counts: &[u32]) -> bool {
    let values = values_of(block);
    let mut own = vec![0; values.len()];
    let mut count = |value: Value| {
        if let Some(place) = values.iter().position(|own| *own == value) {
            own[place] += 1;
        }
    };
    block.insts.iter().for_each(|inst| inst.op.for_each_value(&mut count));
    if let Some((terminator, _)) = &block.terminator {
        terminator.for_each_value(&mut count);
    }
    values.iter().zip(own).all(|(value, own)| counts[value.index()] == own)
}

fn values_of(block: &BlockData) -> Vec<Value> {
    block.params.iter().copied().chain(block.insts.iter().filter_map(|inst| inst.result)).collect()
}

/// Makes the values of a block private: each target of its branch that is reached from here alone takes those that are used in it
/// or behind it as parameters. Changes nothing and gives false where they are also used elsewhere.
pub(super) fn localise(function: &mut Function, flow: &ControlFlow, block: Block) -> bool {
    let values = values_of(function.block(block));
    let Some((terminator, _)) = &function.block(block).terminator else { return false };
    let targets: Vec<Block> = terminator
        .targets()
        .iter()
        .map(|target| target.block)
        .filter(|target| flow.single_predecessor(*target).is_some())
        .collect();
    let mut needed = vec![Vec::new(); targets.len()];
    for &user in flow.order.iter().filter(|user| **user != block) {
        let mut used: Vec<Value> = Vec::new();
        for_each_use(function.block(user), |value| {
            if values.contains(&value) && !used.contains(&value) {
                used.push(value);
            }
        });
        if used.is_empty() {
            continue;
        }
        let Some(place) = targets.iter().position(|target| flow.dominates(*target, user)) else {
            return false;
        };
        for value in used {
            if !needed[place].contains(&value) {
                needed[place].push(value);
            }
        }
    }
    for (target, needed) in targets.into_iter().zip(needed) {
        pass(function, flow, block, target, &needed);
    }
    true
}

fn for_each_use(block: &BlockData, mut visit: impl FnMut(Value)) {
    block.insts.iter().for_each(|inst| inst.op.for_each_value(&mut visit));
    if let Some((terminator, _)) = &block.terminator {
        terminator.for_each_value(&mut visit);
    }
}

/// Gives `target`, which only `block` goes to, parameters for the values, and lets what is behind use those.
fn pass(function: &mut Function, flow: &ControlFlow, block: Block, target: Block, values: &[Value]) {
    let params: Vec<(Value, Value)> =
        values.iter().map(|value| (*value, function.add_param(target))).collect();
    if let Some((terminator, _)) = &mut function.block_mut(block).terminator {
        terminator.for_each_target_mut(|to| {
            if to.block == target {
                to.args.extend(values);
            }
        });
    }
    let renamed = |value: Value| params.iter().find(|(old, _)| *old == value).map_or(value, |(_, new)| *new);
    for &user in flow.order.iter().filter(|user| flow.dominates(target, **user)) {
        let data = function.block_mut(user);
        data.insts.iter_mut().for_each(|inst| inst.op.map_values(renamed));
        if let Some((terminator, _)) = &mut data.terminator {
            terminator.map_values(renamed);
        }
    }
}
