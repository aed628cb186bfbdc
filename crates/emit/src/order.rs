//! The order in which a function's blocks are laid out.
//!
//! Reads the control flow of the IR; gives the reachable blocks in reverse postorder, with a loop's blocks before what
//! follows the loop and cold blocks last, and an entry for each edge that has to be a block of its own.

use crate::error::EmitError;
use moonhook_ir::{Block, Function, Terminator};

/// A block of the machine function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// Takes the parameters; only there if a jump goes back to the IR's entry block.
    Entry,
    Block(Block),
    /// The edge from a block to its terminator's `n`th target: passes the arguments.
    Edge(Block, usize),
}

/// No number in [`Order::edges`]: the edge is not a block.
pub const DIRECT: u32 = u32::MAX;

pub struct Order {
    pub items: Vec<Item>,
    /// By IR block: its number among the items (`u32::MAX` if unreachable).
    pub blocks: Vec<u32>,
    /// By IR block and target of its terminator: the edge's number among the items, or [`DIRECT`].
    pub edges: Vec<[u32; 2]>,
    /// By IR block: hardly ever reached.
    pub cold: Vec<bool>,
}

/// What decides about the order of blocks that are not cold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Paths through cold code do not count: hot code is straight.
    Straight,
    /// A block follows all that lead to it, cold ones too. In large functions the allocator gets by with less stack then.
    Compact,
}

/// Decides the order. Fails if a block has no terminator or jumps to where it cannot.
pub fn order(function: &Function, kind: Layout) -> Result<Order, EmitError> {
    let rpo = function
        .reverse_postorder()
        .map_err(|problem| EmitError::Malformed { problem: format!("{}: {problem}", function.name) })?;
    let predecessors = predecessors(function, &rpo);
    let depth = loop_depth(function, &rpo, &predecessors);
    let cold = cold(function, &rpo, &predecessors);
    let layout = loops_together(function, &depth, &cold, kind);

    let split = |block: Block, target: usize| -> bool {
        let targets = targets(function, block);
        let (to, args) = targets[target];
        targets.len() > 1 && (args > 0 || predecessors[to.index()].len() > 1)
    };
    let count = function.blocks.len();
    let (blocks, edges) = (vec![u32::MAX; count], vec![[DIRECT; 2]; count]);
    let mut order = Order { items: Vec::new(), blocks, edges, cold };
    if !predecessors[0].is_empty() {
        order.items.push(Item::Entry);
    }
    for now_cold in [false, true] {
        for (place, &block) in layout.iter().enumerate() {
            let block_cold = order.cold[block.index()];
            if block_cold == now_cold {
                order.blocks[block.index()] = order.items.len() as u32;
                order.items.push(Item::Block(block));
            }
            let mut edges: Vec<(usize, (Block, usize))> =
                targets(function, block).into_iter().enumerate().collect();
            // Last the one to the block that follows, which needs no jump then.
            edges.sort_by_key(|(_, (to, _))| Some(to) == layout.get(place + 1));
            for (n, (to, _)) in edges {
                // An edge into cold code is itself cold, and one out of cold code as well.
                if split(block, n) && (block_cold || order.cold[to.index()]) == now_cold {
                    order.edges[block.index()][n] = order.items.len() as u32;
                    order.items.push(Item::Edge(block, n));
                }
            }
        }
    }
    Ok(order)
}

/// The targets of a block's terminator, each with the number of arguments.
fn targets(function: &Function, block: Block) -> Vec<(Block, usize)> {
    match &function.block(block).terminator {
        Some((Terminator::Return(_), _)) | None => Vec::new(),
        Some((terminator, _)) => terminator.targets().iter().map(|t| (t.block, t.args.len())).collect(),
    }
}

fn predecessors(function: &Function, rpo: &[Block]) -> Vec<Vec<Block>> {
    let mut predecessors = vec![Vec::new(); function.blocks.len()];
    for &block in rpo {
        for (to, _) in targets(function, block) {
            predecessors[to.index()].push(block);
        }
    }
    predecessors
}

/// By block: hardly ever reached, because it is marked so or every path there leads through such blocks.
fn cold(function: &Function, rpo: &[Block], predecessors: &[Vec<Block>]) -> Vec<bool> {
    let mut cold = vec![false; function.blocks.len()];
    let mut seen = cold.clone();
    for block in rpo.iter().skip(1) {
        // Paths along back edges have been through the block before.
        let mut before = predecessors[block.index()].iter().filter(|p| seen[p.index()] || p.index() == 0);
        cold[block.index()] = function.block(*block).cold || before.all(|p| cold[p.index()]);
        seen[block.index()] = true;
    }
    cold
}

/// How many loops each block lies in. A loop is what reaches the source of a jump backwards (in `rpo`) without passing
/// the jump's target; that is exact for loops that are entered at the top only.
fn loop_depth(function: &Function, rpo: &[Block], predecessors: &[Vec<Block>]) -> Vec<u32> {
    let mut position = vec![usize::MAX; function.blocks.len()];
    for (index, block) in rpo.iter().enumerate() {
        position[block.index()] = index;
    }
    let mut depth = vec![0; function.blocks.len()];
    let mut member_of = vec![usize::MAX; function.blocks.len()];
    for head in rpo {
        let back = |p: &&Block| position[p.index()] >= position[head.index()];
        let mut work: Vec<Block> = predecessors[head.index()].iter().filter(back).copied().collect();
        if work.is_empty() {
            continue;
        }
        member_of[head.index()] = head.index();
        depth[head.index()] += 1;
        while let Some(block) = work.pop() {
            let seen = std::mem::replace(&mut member_of[block.index()], head.index()) == head.index();
            if !seen && position[block.index()] > position[head.index()] {
                depth[block.index()] += 1;
                work.extend_from_slice(&predecessors[block.index()]);
            }
        }
    }
    depth
}

/// Reverse postorder in which, of two successors, the warmer and more deeply nested one comes first; cold blocks are last.
fn loops_together(function: &Function, depth: &[u32], cold: &[bool], kind: Layout) -> Vec<Block> {
    let mut all = postorder(function, depth, cold, |_| true);
    all.reverse();
    if kind == Layout::Compact {
        return all;
    }
    let mut layout = postorder(function, depth, cold, |block| !cold[block.index()]);
    layout.reverse();
    layout.extend(all.into_iter().filter(|block| cold[block.index()]));
    layout
}

/// The blocks that are reached by way of those that are wanted, each after its successors.
fn postorder(
    function: &Function,
    depth: &[u32],
    cold: &[bool],
    wanted: impl Fn(Block) -> bool,
) -> Vec<Block> {
    let successors = |block: Block| {
        let mut list: Vec<Block> =
            targets(function, block).into_iter().map(|(to, _)| to).filter(|to| wanted(*to)).collect();
        // What is visited last comes first in the layout; of equals, the first target does.
        list.reverse();
        list.sort_by_key(|to| (!cold[to.index()], depth[to.index()]));
        list
    };
    let mut seen = vec![false; function.blocks.len()];
    seen[0] = true;
    let mut stack = vec![(Block(0), successors(Block(0)).into_iter())];
    let mut result = Vec::new();
    while let Some((block, rest)) = stack.last_mut() {
        match rest.next() {
            None => {
                result.push(*block);
                stack.pop();
            }
            Some(next) if std::mem::replace(&mut seen[next.index()], true) => {}
            Some(next) => stack.push((next, successors(next).into_iter())),
        }
    }
    result
}
