//! An operation on a block parameter that gets a constant on every edge is done to the constants: the parameter gets the
//! results. Only where nothing else uses the parameter, so that no further one is needed.

use crate::values::{Definition, Replacements, definitions, use_counts};
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _maps: &[Map]) -> bool {
    let mut changed = false;
    // Each operation found makes the parameter's constants others.
    while let Some(found) = find(function) {
        apply(function, &found);
        changed = true;
    }
    changed
}

struct Found {
    block: Block,
    /// Among the parameters.
    place: usize,
    /// Among the instructions.
    inst: usize,
}

fn find(function: &Function) -> Option<Found> {
    let mut uses = None;
    for (index, data) in function.blocks.iter().enumerate().skip(1) {
        for (inst, Inst { op, .. }) in data.insts.iter().enumerate() {
            let place = operand(op).and_then(|value| data.params.iter().position(|param| *param == value));
            let Some(place) = place else { continue };
            let (uses, definitions) =
                uses.get_or_insert_with(|| (use_counts(function), definitions(function)));
            let block = Block(index as u32);
            if uses[data.params[place].index()] == 1 && gets_constants(function, block, place, definitions) {
                return Some(Found { block, place, inst });
            }
        }
    }
    None
}

/// The only value that an operation needs, if it has such and can be evaluated.
fn operand(op: &Op) -> Option<Value> {
    match *op {
        Op::Binary(_, lhs, Operand::Imm(_)) => Some(lhs),
        Op::Unary(UnaryOp::Unlink | UnaryOp::Arena, _) => None,
        Op::Unary(_, value) => Some(value),
        _ => None,
    }
}

fn gets_constants(function: &Function, block: Block, place: usize, definitions: &[Definition]) -> bool {
    let mut all = true;
    for data in &function.blocks {
        if let Some((terminator, _)) = &data.terminator {
            terminator.for_each_target(|target| {
                all &= target.block != block
                    || matches!(definitions[target.args[place].index()], Definition::Const(_));
            });
        }
    }
    all
}

fn apply(function: &mut Function, found: &Found) {
    let definitions = definitions(function);
    let Inst { op, result, loc } = function.block_mut(found.block).insts.remove(found.inst);
    for index in 0..function.blocks.len() {
        for edge in 0..2 {
            let data = &function.blocks[index];
            let target = data.terminator.as_ref().and_then(|(terminator, _)| terminator.target(edge));
            let Some(target) = target.filter(|target| target.block == found.block) else { continue };
            let Definition::Const(constant) = definitions[target.args[found.place].index()] else { continue };
            let new = function.push(Block(index as u32), Op::Const(evaluate(&op, constant)), loc);
            let Some((terminator, _)) = &mut function.blocks[index].terminator else { continue };
            if let (Some(target), Some(new)) = (terminator.targets_mut().into_iter().nth(edge), new) {
                target.args[found.place] = new;
            }
        }
    }
    if let Some(result) = result {
        let mut replacements = Replacements::new(function);
        replacements.set(result, function.block(found.block).params[found.place]);
        replacements.apply(function);
    }
}

fn evaluate(op: &Op, constant: i64) -> i64 {
    let constant = constant as u64;
    match *op {
        Op::Binary(op, _, Operand::Imm(imm)) => eval::binary(op, constant, imm as i64 as u64) as i64,
        Op::Unary(op, _) => eval::unary(op, constant) as i64,
        _ => constant as i64,
    }
}
