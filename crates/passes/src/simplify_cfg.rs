//! Tidies the control-flow graph: drops unreachable blocks, jumps past blocks that only jump on, joins a block with its
//! only successor if that has no other predecessor, drops block parameters that always get the same value, turns branches
//! whose two targets are the same into jumps.
//!
//! Guarantees that the block list holds reachable blocks only. No `may_goto` is bypassed: only blocks that end in a plain
//! jump are. Does not look at conditions (`fold`, `branch_facts`).

use crate::Around;
use crate::values::{Definition, Replacements, definitions, use_counts};
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let mut changed = drop_unreachable(function);
    changed |= remove_constant_params(function);
    // Each branch that becomes a jump may make the two targets of another the same.
    for _ in 0..CHAIN {
        changed |= skip_jumps(function);
        if !join_branches(function) {
            break;
        }
        changed = true;
    }
    changed |= drop_unreachable(function);
    changed |= merge_blocks(function);
    changed | drop_unreachable(function)
}

/// Branches in a row of which each leads to the next, at most.
const CHAIN: usize = 16;

/// Removes unreachable blocks and renumbers the others, in their order.
fn drop_unreachable(function: &mut Function) -> bool {
    let Ok(order) = function.reverse_postorder() else { return false };
    if order.len() == function.blocks.len() {
        return false;
    }
    let mut number = vec![None; function.blocks.len()];
    order.iter().for_each(|block| number[block.index()] = Some(Block(0)));
    for (next, number) in number.iter_mut().flatten().enumerate() {
        *number = Block(next as u32);
    }
    let mut keep = number.iter();
    function.blocks.retain(|_| keep.next().is_some_and(Option::is_some));
    for block in &mut function.blocks {
        if let Some((terminator, _)) = &mut block.terminator {
            terminator.for_each_target_mut(|target| {
                target.block = number[target.block.index()].unwrap_or(target.block);
            });
        }
    }
    true
}

/// What all jumps pass for a parameter.
#[derive(Clone, Copy, PartialEq)]
enum Incoming {
    Nothing,
    Value(Value),
    Const(i64),
    Different,
}

/// Replaces each parameter that gets one value (or itself) on every edge by that value, and one that gets the same
/// constant on every edge by that constant.
fn remove_constant_params(function: &mut Function) -> bool {
    let definitions = definitions(function);
    let mut replacements = Replacements::new(function);
    let mut incoming: Vec<Vec<Incoming>> =
        function.blocks.iter().map(|block| vec![Incoming::Nothing; block.params.len()]).collect();
    for block in &function.blocks {
        let Some((terminator, _)) = &block.terminator else { continue };
        terminator.for_each_target(|target| {
            let params = &function.block(target.block).params;
            let seen = incoming[target.block.index()].iter_mut();
            for ((arg, param), seen) in target.args.iter().zip(params).zip(seen) {
                if arg != param {
                    *seen = meet(*seen, *arg, &definitions);
                }
            }
        });
    }
    let mut changed = false;
    for (index, incoming) in incoming.iter().enumerate().skip(1) {
        for (place, seen) in incoming.iter().enumerate() {
            let param = function.blocks[index].params[place];
            match *seen {
                // A parameter of another block may itself be replaced by what depends on this one; the next round
                // sees the result.
                Incoming::Value(value) if replacements.get(value) != param => {
                    replacements.set(param, value);
                    changed = true;
                }
                Incoming::Const(value) => {
                    let result = Some(Value(function.value_count));
                    function.value_count += 1;
                    let inst = Inst { op: Op::Const(value), result, loc: Loc::default() };
                    function.blocks[index].insts.insert(0, inst);
                    replacements.grow(function.value_count);
                    replacements.set(param, Value(function.value_count - 1));
                    changed = true;
                }
                _ => {}
            }
        }
    }
    replacements.apply(function);
    changed
}

fn meet(seen: Incoming, arg: Value, definitions: &[Definition]) -> Incoming {
    let constant = match definitions[arg.index()] {
        Definition::Const(value) => Some(value),
        _ => None,
    };
    match (seen, constant) {
        (Incoming::Nothing, Some(value)) => Incoming::Const(value),
        (Incoming::Nothing, None) => Incoming::Value(arg),
        (Incoming::Value(value), _) if value == arg => seen,
        (Incoming::Const(value), Some(other)) if value == other => seen,
        _ => Incoming::Different,
    }
}

/// Lets edges to blocks that only jump on go where those go.
fn skip_jumps(function: &mut Function) -> bool {
    let counts = use_counts(function);
    let forward: Vec<Option<(Vec<Value>, Target)>> =
        function.blocks.iter().map(|block| forwards(block, &counts)).collect();
    if forward.iter().all(Option::is_none) {
        return false;
    }
    let mut changed = false;
    for block in &mut function.blocks {
        let Some((terminator, _)) = &mut block.terminator else { continue };
        terminator.for_each_target_mut(|target| {
            // Bounded: blocks could jump in circles.
            for _ in 0..8 {
                let Some((params, next)) = &forward[target.block.index()] else { break };
                if next.block == target.block {
                    break;
                }
                let substitute = |value: &Value| match params.iter().position(|param| param == value) {
                    Some(place) => target.args[place],
                    None => *value,
                };
                *target = Target { block: next.block, args: next.args.iter().map(substitute).collect() };
                changed = true;
            }
        });
    }
    changed
}

/// The parameters and the target of a block that does nothing but jump, and whose parameters nobody else uses.
fn forwards(block: &BlockData, counts: &[u32]) -> Option<(Vec<Value>, Target)> {
    let Some((Terminator::Jump(target), _)) = &block.terminator else { return None };
    let own = |param: &Value| target.args.iter().filter(|arg| *arg == param).count() as u32;
    let used_here = block.params.iter().all(|param| own(param) == counts[param.index()]);
    (block.insts.is_empty() && used_here).then(|| (block.params.clone(), target.clone()))
}

fn join_branches(function: &mut Function) -> bool {
    let mut changed = false;
    for block in &mut function.blocks {
        if let Some((terminator, _)) = &mut block.terminator
            && let Terminator::Branch { then, otherwise, .. } = terminator
            && then == otherwise
        {
            *terminator = Terminator::Jump(then.clone());
            changed = true;
        }
    }
    changed
}

/// Appends to each block the successor that only it jumps to. What was appended becomes unreachable.
fn merge_blocks(function: &mut Function) -> bool {
    let mut edges = vec![0u32; function.blocks.len()];
    edges[0] = 1; // the entry is reached from outside
    for block in &function.blocks {
        if let Some((terminator, _)) = &block.terminator {
            terminator.for_each_target(|target| edges[target.block.index()] += 1);
        }
    }
    let mut replacements = Replacements::new(function);
    let mut changed = false;
    for index in 0..function.blocks.len() {
        while let Some((Terminator::Jump(target), _)) = &function.blocks[index].terminator {
            let next = target.block.index();
            if edges[next] != 1 || next == index {
                break;
            }
            let args = target.args.clone();
            let moved = std::mem::take(&mut function.blocks[next]);
            moved.params.iter().zip(args).for_each(|(param, arg)| replacements.set(*param, arg));
            let block = &mut function.blocks[index];
            block.insts.extend(moved.insts);
            block.terminator = moved.terminator;
            block.cold |= moved.cold;
            edges[next] = 0;
            changed = true;
        }
    }
    replacements.apply(function);
    changed
}
