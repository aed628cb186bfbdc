//! The shape of a function's control-flow graph: order, predecessors, dominators, loop headers.
//!
//! Reads the terminators only, and is a snapshot: any change to a terminator makes it stale.

use crate::graph::{Dominators, Lists};
use crate::{Block, Function};

/// What [`ControlFlow::new`] finds out.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// The reachable blocks in reverse postorder: each before its successors except along back edges.
    pub order: Vec<Block>,
    predecessors: Lists<Block>,
    dominators: Dominators,
    /// By block, those that it immediately dominates.
    children: Lists<Block>,
}

const UNREACHABLE: u32 = u32::MAX;

impl ControlFlow {
    /// Fails, in words, where a reachable block lacks its terminator or a jump does not fit its target.
    pub fn new(function: &Function) -> Result<Self, String> {
        let order = function.reverse_postorder()?;
        let count = function.blocks.len();
        let predecessors = Lists::new(count, |edge| {
            for &block in &order {
                if let Some((terminator, _)) = &function.block(block).terminator {
                    terminator.for_each_target(|target| edge(target.block.index(), block));
                }
            }
        });
        let dominators = Dominators::new(&order, count, |block: Block| predecessors.of(block.index()));
        let children = Lists::new(count, |child| {
            for block in &order {
                if let Some(parent) = dominators.parent(block.index()) {
                    child(order[parent].index(), *block);
                }
            }
        });
        Ok(ControlFlow { order, predecessors, dominators, children })
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        self.position(block) != UNREACHABLE
    }

    /// The blocks that jump to a block, one entry an edge (so a branch with equal targets counts twice). Unreachable blocks are
    /// not counted.
    pub fn predecessors(&self, block: Block) -> &[Block] {
        self.predecessors.of(block.index())
    }

    /// The block's place in [`ControlFlow::order`]; `u32::MAX` for unreachable blocks.
    pub fn position(&self, block: Block) -> u32 {
        self.dominators.position(block.index())
    }

    /// `None` for the entry and for unreachable blocks.
    pub fn immediate_dominator(&self, block: Block) -> Option<Block> {
        self.dominators.parent(block.index()).map(|parent| self.order[parent])
    }

    /// The blocks whose immediate dominator this is.
    pub fn dominated(&self, block: Block) -> &[Block] {
        self.children.of(block.index())
    }

    /// Whether every path from the entry to `below` goes through `above`; a block dominates itself.
    pub fn dominates(&self, above: Block, below: Block) -> bool {
        self.dominators.dominates(above.index(), below.index())
    }

    /// Whether an edge from a block that is not earlier in the order leads here (true of every loop's entry).
    pub fn is_loop_header(&self, block: Block) -> bool {
        let own = self.position(block);
        self.predecessors(block).iter().any(|p| self.position(*p) >= own)
    }

    /// The only edge's source, if there is one edge to this block.
    pub fn single_predecessor(&self, block: Block) -> Option<Block> {
        match *self.predecessors(block) {
            [only] => Some(only),
            _ => None,
        }
    }
}

impl Function {
    /// The reachable blocks, each before its successors except along back edges. Fails where a block lacks its
    /// terminator or a jump does not fit its target.
    pub fn reverse_postorder(&self) -> Result<Vec<Block>, String> {
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut seen = vec![false; self.blocks.len()];
        let mut stack = vec![(Block(0), 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.last_mut() {
            let block = *block;
            let Some((terminator, _)) = &self.block(block).terminator else {
                return Err(format!("{block} has no terminator"));
            };
            let Some(target) = terminator.target(*next) else {
                order.push(block);
                stack.pop();
                continue;
            };
            *next += 1;
            let Some(data) = self.blocks.get(target.block.index()) else {
                return Err(format!("{block} jumps to {}, which does not exist", target.block));
            };
            if data.params.len() != target.args.len() {
                return Err(format!("{block} passes {} arguments to {}", target.args.len(), target.block));
            }
            if !std::mem::replace(&mut seen[target.block.index()], true) {
                stack.push((target.block, 0));
            }
        }
        order.reverse();
        Ok(order)
    }
}
