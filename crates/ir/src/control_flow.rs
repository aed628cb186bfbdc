//! The shape of a function's control-flow graph: order, predecessors, dominators, loop headers.
//!
//! Reads the terminators only, and is a snapshot: any change to a terminator makes it stale.

use crate::{Block, Function};

/// What [`ControlFlow::new`] finds out. All tables are indexed by block number.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// The reachable blocks in reverse postorder: each before its successors except along back edges.
    pub order: Vec<Block>,
    /// For each block the blocks that jump to it, one entry an edge (so a branch with equal targets counts twice).
    /// Unreachable blocks are not counted.
    pub predecessors: Vec<Vec<Block>>,
    position: Vec<u32>,
    idom: Vec<Option<Block>>,
    children: Vec<Vec<Block>>,
    /// Entry and exit times of a walk of the dominator tree.
    interval: Vec<(u32, u32)>,
}

const UNREACHABLE: u32 = u32::MAX;

impl ControlFlow {
    /// Fails, in words, where a reachable block lacks its terminator or a jump does not fit its target.
    pub fn new(function: &Function) -> Result<Self, String> {
        let order = function.reverse_postorder()?;
        let count = function.blocks.len();
        let mut position = vec![UNREACHABLE; count];
        let mut predecessors = vec![Vec::new(); count];
        for (number, &block) in order.iter().enumerate() {
            position[block.index()] = number as u32;
            if let Some((terminator, _)) = &function.block(block).terminator {
                terminator.for_each_target(|target| predecessors[target.block.index()].push(block));
            }
        }
        let mut flow = ControlFlow {
            order,
            predecessors,
            position,
            idom: vec![None; count],
            children: vec![Vec::new(); count],
            interval: vec![(0, 0); count],
        };
        flow.find_dominators();
        flow.number_dominator_tree();
        Ok(flow)
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        self.position[block.index()] != UNREACHABLE
    }

    /// The block's place in [`ControlFlow::order`]; `u32::MAX` for unreachable blocks.
    pub fn position(&self, block: Block) -> u32 {
        self.position[block.index()]
    }

    /// `None` for the entry and for unreachable blocks.
    pub fn immediate_dominator(&self, block: Block) -> Option<Block> {
        self.idom[block.index()].filter(|&above| above != block)
    }

    /// The blocks whose immediate dominator this is.
    pub fn dominated(&self, block: Block) -> &[Block] {
        &self.children[block.index()]
    }

    /// Whether every path from the entry to `below` goes through `above`; a block dominates itself.
    pub fn dominates(&self, above: Block, below: Block) -> bool {
        let (start, end) = self.interval[above.index()];
        let (inner, _) = self.interval[below.index()];
        self.is_reachable(above) && self.is_reachable(below) && start <= inner && inner < end
    }

    /// Whether an edge from a block that is not earlier in the order leads here (true of every loop's entry).
    pub fn is_loop_header(&self, block: Block) -> bool {
        let own = self.position(block);
        self.predecessors[block.index()].iter().any(|p| self.position(*p) >= own)
    }

    /// The only edge's source, if there is one edge to this block.
    pub fn single_predecessor(&self, block: Block) -> Option<Block> {
        match self.predecessors[block.index()][..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Cooper, Harvey and Kennedy's iteration ("A Simple, Fast Dominance Algorithm").
    fn find_dominators(&mut self) {
        self.idom[0] = Some(Block(0));
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &self.order[1..] {
                let mut new: Option<Block> = None;
                for &predecessor in &self.predecessors[block.index()] {
                    if self.idom[predecessor.index()].is_some() {
                        new = Some(new.map_or(predecessor, |other| self.intersect(predecessor, other)));
                    }
                }
                if self.idom[block.index()] != new {
                    self.idom[block.index()] = new;
                    changed = true;
                }
            }
        }
    }

    fn intersect(&self, mut a: Block, mut b: Block) -> Block {
        while a != b {
            while self.position(a) > self.position(b) {
                a = self.idom[a.index()].unwrap_or(Block(0));
            }
            while self.position(b) > self.position(a) {
                b = self.idom[b.index()].unwrap_or(Block(0));
            }
        }
        a
    }

    fn number_dominator_tree(&mut self) {
        for &block in &self.order[1..] {
            if let Some(above) = self.idom[block.index()] {
                self.children[above.index()].push(block);
            }
        }
        let mut time = 0;
        let mut stack = vec![(Block(0), 0)];
        while let Some((block, next)) = stack.pop() {
            if next == 0 {
                self.interval[block.index()].0 = time;
                time += 1;
            }
            match self.children[block.index()].get(next) {
                Some(&child) => stack.extend([(block, next + 1), (child, 0)]),
                None => self.interval[block.index()].1 = time,
            }
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
        while let Some((block, next)) = stack.pop() {
            let Some((terminator, _)) = &self.block(block).terminator else {
                return Err(format!("{block} has no terminator"));
            };
            let Some(target) = terminator.target(next) else {
                order.push(block);
                continue;
            };
            stack.push((block, next + 1));
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
