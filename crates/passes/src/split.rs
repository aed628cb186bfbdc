//! Splitting where paths meet: what follows is made once for each constant that the paths bring, if branches there ask which it was.
//!
//! Which protocol a header is of is asked again at each of its fields; on a path of its own, the answer is known, and so is
//! that the header is within the frame. The verifier has nothing more to follow: it keeps states with different constants apart
//! anyway, as long as something asks. Applies to the first block where paths with constants meet, and copies all that it dominates,
//! so that values need no other names elsewhere. Where a loop is within or behind, all stays as it is: the more paths there are to a
//! loop, the more often the verifier walks it.

use crate::Around;
use crate::opaque::before_loops;
use crate::values::{Definition, definitions};
use moonhook_ir::*;
use std::collections::HashMap;

/// Operations that are copied at most, at one place.
const COPIED: usize = 250;
/// Constants that are told apart at most.
const APART: usize = 3;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let definitions = definitions(function);
    let before_loops = before_loops(function, &flow);
    let joins = flow.order.iter().skip(1).filter(|block| !before_loops[block.index()]);
    let Some((join, classes)) =
        joins.filter_map(|block| meeting(function, &flow, &definitions, *block)).next()
    else {
        return false;
    };
    let region = region(&flow, join);
    for class in &classes[1..] {
        let copy = copy(function, &region);
        for &(from, edge) in class {
            if let Some((terminator, _)) = &mut function.block_mut(from).terminator
                && let Some(target) = terminator.targets_mut().into_iter().nth(edge)
            {
                target.block = copy;
            }
        }
    }
    true
}

/// An edge: its source, and which of its edges.
type Edge = (Block, usize);

/// The edges to the block by the constant that they bring for a parameter, if it is worth while to split it by that.
fn meeting(
    function: &Function,
    flow: &ControlFlow,
    definitions: &[Definition],
    block: Block,
) -> Option<(Block, Vec<Vec<Edge>>)> {
    let params = &function.block(block).params;
    if params.is_empty() || flow.predecessors(block).len() < 2 {
        return None;
    }
    let edges = edges(function, flow, block);
    let found = (0..params.len()).find_map(|place| {
        let classes = classes(function, definitions, &edges, place)?;
        Some((params[place], classes))
    });
    let (param, classes) = found?;
    let region = region(flow, block);
    let size: usize = region.iter().map(|block| function.block(*block).insts.len() + 1).sum();
    let is_asked = region.iter().any(|block| asks(function.block(*block), param));
    (is_asked && size * (classes.len() - 1) <= COPIED).then_some((block, classes))
}

fn edges(function: &Function, flow: &ControlFlow, block: Block) -> Vec<Edge> {
    let mut sources = flow.predecessors(block).to_vec();
    sources.dedup();
    let both = sources.into_iter().flat_map(|from| [(from, 0), (from, 1)]);
    both.filter(|edge| target(function, *edge).is_some_and(|target| target.block == block)).collect()
}

fn target(function: &Function, (from, edge): Edge) -> Option<&Target> {
    function.block(from).terminator.as_ref()?.0.target(edge)
}

/// The edges by the constant that they bring for the parameter at `place`, if each brings one and there are several.
fn classes(
    function: &Function,
    definitions: &[Definition],
    edges: &[Edge],
    place: usize,
) -> Option<Vec<Vec<Edge>>> {
    let mut classes: Vec<(i64, Vec<Edge>)> = Vec::new();
    for edge in edges {
        let Definition::Const(constant) = definitions[target(function, *edge)?.args[place].index()] else {
            return None;
        };
        match classes.iter_mut().find(|(known, _)| *known == constant) {
            Some((_, class)) => class.push(*edge),
            None => classes.push((constant, vec![*edge])),
        }
    }
    (2..=APART).contains(&classes.len()).then(|| classes.into_iter().map(|(_, class)| class).collect())
}

/// Whether the block ends in a branch that compares the value with a constant.
fn asks(block: &BlockData, value: Value) -> bool {
    match &block.terminator {
        Some((Terminator::Branch { condition, .. }, _)) => {
            condition.lhs == value && condition.rhs.value().is_none()
        }
        _ => false,
    }
}

/// The block and all others that only it leads to.
fn region(flow: &ControlFlow, block: Block) -> Vec<Block> {
    let mut region = vec![block];
    let mut at = 0;
    while let Some(block) = region.get(at) {
        region.extend(flow.dominated(*block));
        at += 1;
    }
    region
}

/// Copies the blocks, whose values nothing else uses; gives the copy of the first one.
fn copy(function: &mut Function, region: &[Block]) -> Block {
    let mut blocks = HashMap::new();
    let mut values = HashMap::new();
    for &block in region {
        let new = function.new_block();
        blocks.insert(block, new);
        let data = function.block(block);
        let own = data.params.iter().copied().chain(data.insts.iter().filter_map(|inst| inst.result));
        let own: Vec<Value> = own.collect();
        own.into_iter().for_each(|value| {
            values.insert(value, function.new_value());
        });
    }
    let named = |value: Value| values.get(&value).copied().unwrap_or(value);
    for block in region {
        let mut data = function.block(*block).clone();
        data.params.iter_mut().for_each(|param| *param = named(*param));
        for inst in &mut data.insts {
            inst.op.map_values(named);
            inst.result = inst.result.map(named);
        }
        if let Some((terminator, _)) = &mut data.terminator {
            terminator.map_values(named);
            terminator.for_each_target_mut(|target| {
                target.block = blocks.get(&target.block).copied().unwrap_or(target.block);
            });
        }
        *function.block_mut(blocks[block]) = data;
    }
    blocks[&region[0]]
}
