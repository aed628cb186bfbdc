//! Which blocks can be reached from which.

use moonhook_ir::*;

/// Up to so many blocks it is found out; in larger functions each is taken to reach all.
const MOST: usize = 1 << 14;

pub(crate) struct Reach {
    /// By block a set of blocks; empty where nothing was found out.
    sets: Vec<Vec<u64>>,
}

impl Reach {
    pub fn new(function: &Function, flow: &ControlFlow) -> Self {
        let count = function.blocks.len();
        if count > MOST {
            return Reach { sets: Vec::new() };
        }
        let mut sets = vec![vec![0u64; count.div_ceil(64)]; count];
        let mut changed = true;
        while changed {
            changed = false;
            for block in flow.order.iter().rev() {
                let mut set = std::mem::take(&mut sets[block.index()]);
                let before = set.clone();
                if let Some((terminator, _)) = &function.block(*block).terminator {
                    terminator.for_each_target(|target| {
                        let to = target.block.index();
                        set[to / 64] |= 1 << (to % 64);
                        set.iter_mut().zip(&sets[to]).for_each(|(word, more)| *word |= more);
                    });
                }
                changed |= set != before;
                sets[block.index()] = set;
            }
        }
        Reach { sets }
    }

    /// Whether control gets to `to` when it is at the start of `from`.
    pub fn of(&self, from: Block, to: Block) -> bool {
        let own = |set: &Vec<u64>| from == to || set[to.index() / 64] >> (to.index() % 64) & 1 != 0;
        self.sets.get(from.index()).is_none_or(own)
    }
}

/// By block: control may come back to it.
pub(crate) fn within_loops(function: &Function, flow: &ControlFlow) -> Vec<bool> {
    let mut within = vec![false; function.blocks.len()];
    for head in flow.order.iter().filter(|block| flow.is_loop_header(**block)) {
        let own = flow.position(*head);
        let before = flow.predecessors(*head).iter().copied();
        let mut work: Vec<Block> = before.filter(|block| flow.position(*block) >= own).collect();
        within[head.index()] = true;
        while let Some(block) = work.pop() {
            // Outer loops come first in the order, and have all blocks of those within them.
            if block != *head
                && flow.position(block) > own
                && !std::mem::replace(&mut within[block.index()], true)
            {
                work.extend(flow.predecessors(block));
            }
        }
    }
    within
}
