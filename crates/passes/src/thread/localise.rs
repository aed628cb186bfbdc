//! Values of a block that only the paths behind its branch use become parameters of those paths.

use super::edges::Edges;
use super::uses::{Uses, for_each_use};
use moonhook_ir::*;
use std::collections::HashSet;

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
pub(super) fn localise(function: &mut Function, edges: &Edges<'_>, uses: &mut Uses, block: Block) -> bool {
    let values = values_of(function.block(block));
    let Some((terminator, _)) = &function.block(block).terminator else { return false };
    let targets: Vec<Block> = terminator
        .targets()
        .iter()
        .map(|target| target.block)
        .filter(|target| edges.single(*target).is_some())
        .collect();
    let mut needed: Vec<Needed> = targets.iter().map(|target| Needed::new(*target)).collect();
    for (user, used) in users(function, edges.flow, uses, block, &values) {
        let by = |target: &Block| edges.all_lead_by(block, *target, user);
        let paths: Vec<Option<bool>> = targets.iter().map(by).collect();
        match paths.iter().position(|path| *path == Some(true)) {
            Some(place) => needed[place].add(user, &used),
            // Nothing leads there any more.
            None if paths.iter().all(Option::is_none) && !targets.is_empty() => {}
            None => return false,
        }
    }
    needed.iter().for_each(|needed| needed.pass(function, uses, block));
    true
}

/// The other blocks that use some of the values, in their order, and which they use.
fn users(
    function: &Function,
    flow: &ControlFlow,
    uses: &Uses,
    block: Block,
    values: &[Value],
) -> Vec<(Block, Vec<Value>)> {
    let mut seen = HashSet::from([block]);
    let blocks = values.iter().flat_map(|value| uses.blocks(function, *value));
    let mut blocks: Vec<Block> =
        blocks.filter(|user| flow.is_reachable(*user) && seen.insert(*user)).collect();
    blocks.sort_unstable_by_key(|user| flow.position(*user));
    let with_used = |user: Block| {
        let mut used: Vec<Value> = Vec::new();
        for_each_use(function.block(user), |value| {
            if values.contains(&value) && !used.contains(&value) {
                used.push(value);
            }
        });
        (!used.is_empty()).then_some((user, used))
    };
    blocks.into_iter().filter_map(with_used).collect()
}

/// What a target of the branch takes as parameters.
struct Needed {
    target: Block,
    values: Vec<Value>,
    users: Vec<Block>,
}

impl Needed {
    fn new(target: Block) -> Needed {
        Needed { target, values: Vec::new(), users: Vec::new() }
    }

    fn add(&mut self, user: Block, used: &[Value]) {
        self.users.push(user);
        for value in used {
            if !self.values.contains(value) {
                self.values.push(*value);
            }
        }
    }

    /// Gives the target, which only `block` goes to, the parameters, and lets what is behind use those.
    fn pass(&self, function: &mut Function, uses: &mut Uses, block: Block) {
        let params: Vec<(Value, Value)> =
            self.values.iter().map(|value| (*value, function.add_param(self.target))).collect();
        if let Some((terminator, _)) = &mut function.block_mut(block).terminator {
            terminator.for_each_target_mut(|to| {
                if to.block == self.target {
                    to.args.extend(&self.values);
                }
            });
        }
        self.values.iter().for_each(|value| uses.add(*value, block, 1));
        let mut renamed = |user: Block, value: Value| {
            let Some((_, new)) = params.iter().find(|(old, _)| *old == value) else { return value };
            uses.remove(value, 1);
            uses.add(*new, user, 1);
            *new
        };
        for &user in &self.users {
            let data = function.block_mut(user);
            data.insts.iter_mut().for_each(|inst| inst.op.map_values(|value| renamed(user, value)));
            if let Some((terminator, _)) = &mut data.terminator {
                terminator.map_values(|value| renamed(user, value));
            }
        }
    }
}
