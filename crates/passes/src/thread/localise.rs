//! Values of a block that others behind its branch use become parameters: of the branch's targets, and of where paths meet again.

use super::edges::Edges;
use super::uses::{Uses, for_each_use};
use moonhook_ir::*;
use rustc_hash::FxHashMap as HashMap;
use std::collections::HashSet;

/// Blocks where paths meet that take the values as parameters, at most.
const MEETINGS: usize = 4;

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
/// or behind it as parameters, and so does each block behind where paths from different targets meet. Changes nothing and gives
/// false where that would be many blocks.
pub(super) fn localise(function: &mut Function, edges: &Edges<'_>, uses: &mut Uses, block: Block) -> bool {
    let values = values_of(function.block(block));
    let users = users(function, edges.flow, uses, block, &values);
    let Some(mut paths) = Paths::find(function, edges, block, users.iter().map(|(user, _)| *user)) else {
        return false;
    };
    for (user, used) in users {
        let renamed: Vec<(Value, Value)> = used
            .into_iter()
            .filter_map(|value| Some((value, paths.at(function, uses, user, value)?)))
            .collect();
        rename(function, uses, user, &renamed);
    }
    true
}

/// Lets a block use other values than those of the other block.
fn rename(function: &mut Function, uses: &mut Uses, user: Block, renamed: &[(Value, Value)]) {
    let mut renamed = |value: Value| {
        let Some((_, new)) = renamed.iter().find(|(old, _)| *old == value) else { return value };
        uses.remove(value, 1);
        uses.add(*new, user, 1);
        *new
    };
    let data = function.block_mut(user);
    data.insts.iter_mut().for_each(|inst| inst.op.map_values(&mut renamed));
    if let Some((terminator, _)) = &mut data.terminator {
        terminator.map_values(&mut renamed);
    }
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

/// Where the values of a block come by on their way to those that use them.
struct Paths {
    block: Block,
    /// For blocks behind the branch, which block has the parameters that count there: a target of the branch, or where paths meet.
    heads: HashMap<Block, Block>,
    /// For those that have parameters, the edges to them, one entry an edge.
    edges: HashMap<Block, Vec<Block>>,
    /// The parameter for a value.
    params: HashMap<(Block, Value), Value>,
}

impl Paths {
    /// `None` if paths meet at too many blocks on the way to the users.
    fn find(
        function: &Function,
        edges: &Edges<'_>,
        block: Block,
        users: impl Iterator<Item = Block>,
    ) -> Option<Paths> {
        let (terminator, _) = function.block(block).terminator.as_ref()?;
        let targets = terminator.targets().into_iter().map(|target| target.block);
        let targets: Vec<Block> = targets.filter(|target| edges.single(*target).is_some()).collect();
        let mut paths =
            Paths { block, heads: HashMap::default(), edges: HashMap::default(), params: HashMap::default() };
        let mut meetings = 0;
        let mut work: Vec<Block> = users.collect();
        while let Some(at) = work.pop() {
            if at == block || paths.heads.contains_key(&at) {
                continue;
            }
            let by = |target: &Block| edges.all_lead_by(block, *target, at);
            let by: Vec<Option<bool>> = targets.iter().map(by).collect();
            let head = match by.iter().position(|path| *path == Some(true)) {
                Some(place) => targets[place],
                // Nothing leads there any more.
                None if by.iter().all(Option::is_none) && !targets.is_empty() => continue,
                None => edges.head(at),
            };
            paths.heads.insert(at, head);
            if paths.edges.contains_key(&head) {
                continue;
            }
            let to = edges.to(head).to_vec();
            if !targets.contains(&head) {
                meetings += 1;
                work.extend(&to);
            }
            if meetings > MEETINGS {
                return None;
            }
            paths.edges.insert(head, to);
        }
        Some(paths)
    }

    /// What stands for a value of the block in another one; `None` if nothing leads there.
    fn at(&mut self, function: &mut Function, uses: &mut Uses, at: Block, value: Value) -> Option<Value> {
        if at == self.block {
            return Some(value);
        }
        let head = *self.heads.get(&at)?;
        if let Some(param) = self.params.get(&(head, value)) {
            return Some(*param);
        }
        let param = function.add_param(head);
        self.params.insert((head, value), param);
        let mut sources = self.edges.get(&head).cloned().unwrap_or_default();
        sources.dedup();
        for from in sources {
            // What comes from where nothing leads to is never used.
            let arg = self.at(function, uses, from, value).unwrap_or(value);
            if let Some((terminator, _)) = &mut function.block_mut(from).terminator {
                terminator.for_each_target_mut(|to| {
                    if to.block == head {
                        to.args.push(arg);
                        uses.add(arg, from, 1);
                    }
                });
            }
        }
        Some(param)
    }
}
