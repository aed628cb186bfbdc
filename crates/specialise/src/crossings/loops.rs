//! Which loops numbers cross.

use super::origins::Origins;
use crate::invariants::natural_loop;
use moonhook_ir::{Block, ControlFlow, Function, Value};
use rustc_hash::FxHashMap;

/// By block, sets of loops: bit n of the words stands for the nth head.
pub struct Loops {
    words: usize,
    /// A path on which no loop's turn ends leads from the head to the block. Behind such an end what the loop computes is computed
    /// anew, and what it does not compute has crossed the loop's own head.
    behind: Vec<u64>,
    /// The block is in the loop.
    inside: Vec<u64>,
    /// Every path to the head, but for the head itself, is by way of the block.
    below: Vec<u64>,
}

impl Loops {
    pub fn find(function: &Function, flow: &ControlFlow, headers: &[Block]) -> Loops {
        let words = headers.len().div_ceil(64);
        let none = vec![0; words * function.blocks.len()];
        let mut loops = Loops { words, behind: none.clone(), inside: none.clone(), below: none };
        let mut own = loops.behind.clone();
        for (number, header) in headers.iter().enumerate() {
            let place = |block: Block| (block.index() * words + number / 64, 1 << (number % 64));
            let set = |sets: &mut Vec<u64>, block| sets[place(block).0] |= place(block).1;
            set(&mut own, *header);
            natural_loop(flow, *header).into_iter().for_each(|block| set(&mut loops.inside, block));
        }
        // What is below a block's children in the tree of dominators is below the block, and so are the children.
        for block in flow.order.iter().rev() {
            if let Some(above) = flow.immediate_dominator(*block) {
                for word in 0..words {
                    let (from, to) = (block.index() * words + word, above.index() * words + word);
                    loops.below[to] |= loops.below[from] | own[from];
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in &flow.order {
                for before in
                    flow.predecessors(*block).iter().filter(|before| !flow.dominates(*block, **before))
                {
                    for word in 0..words {
                        let (from, to) = (before.index() * words + word, block.index() * words + word);
                        let more = (loops.behind[from] | own[from]) & !loops.behind[to];
                        loops.behind[to] |= more;
                        changed |= more != 0;
                    }
                }
            }
        }
        loops
    }

    /// The loops that something defined in the block comes from before, as the paths to their heads lead through it.
    pub fn below(&self, block: Block) -> &[u64] {
        &self.below[self.place(block)]
    }

    /// The loops from whose heads a path leads to the block on which no loop's turn ends.
    pub fn behind(&self, block: Block) -> &[u64] {
        &self.behind[self.place(block)]
    }

    /// The loops that the block is in.
    pub fn inside(&self, block: Block) -> &[u64] {
        &self.inside[self.place(block)]
    }

    fn place(&self, block: Block) -> std::ops::Range<usize> {
        block.index() * self.words..(block.index() + 1) * self.words
    }
}

/// Whether a loop is in both sets.
pub fn meet(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// The loops that the numbers which a comparison looks at come from before. Computed once for each number and each set of loops that
/// comparisons are in: a number may be computed from as many as the function has.
#[derive(Default)]
pub struct Crossed(FxHashMap<Vec<u64>, FxHashMap<Value, Vec<u64>>>);

impl Crossed {
    /// Whether a number has crossed a loop when it is compared in the block, or what it is computed from has, unless the block is
    /// in such a loop itself. `defined` is where values are.
    pub fn has(
        &mut self,
        loops: &Loops,
        origins: &Origins,
        defined: impl Fn(Value) -> Option<Block>,
        (value, block): (Value, Block),
    ) -> bool {
        let inside = loops.inside(block);
        if !self.0.contains_key(inside) {
            self.0.insert(inside.to_vec(), FxHashMap::default());
        }
        let known = self.0.get_mut(inside).expect("it has just been made");
        let mut work = vec![origins.name(value)];
        while let Some(name) = work.last().copied() {
            if known.contains_key(&name) {
                work.pop();
                continue;
            }
            let blocks = origins.alike(&name).iter().filter_map(|value| defined(*value));
            let (own, outside): (Vec<_>, Vec<_>) =
                blocks.map(|block| loops.below(block)).partition(|below| !meet(below, inside));
            // What is there before such a loop is computed from nothing that is in it.
            let sources = if own.is_empty() && !outside.is_empty() { &[] } else { origins.sources(name) };
            let missing = sources.iter().filter(|source| !known.contains_key(source));
            let before = work.len();
            work.extend(missing);
            if work.len() == before {
                let of = sources.iter().map(|source| known[source].as_slice());
                let all = of.chain(own).fold(vec![0; inside.len()], |all: Vec<u64>, more| {
                    all.iter().zip(more).map(|(all, more)| all | more).collect()
                });
                known.insert(name, all);
                work.pop();
            }
        }
        meet(&known[&origins.name(value)], loops.behind(block))
    }
}
