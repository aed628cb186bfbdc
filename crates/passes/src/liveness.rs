//! Which values are still needed where.

use moonhook_ir::*;

/// A set of values of one function.
#[derive(Clone, PartialEq)]
pub(crate) struct Values {
    words: Vec<u64>,
    count: usize,
}

impl Values {
    fn new(function: &Function) -> Self {
        Values { words: vec![0; function.value_count.div_ceil(64) as usize], count: 0 }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn insert(&mut self, value: Value) {
        let (word, bit) = (&mut self.words[value.index() / 64], 1 << (value.0 % 64));
        self.count += usize::from(*word & bit == 0);
        *word |= bit;
    }

    pub fn remove(&mut self, value: Value) {
        let (word, bit) = (&mut self.words[value.index() / 64], 1 << (value.0 % 64));
        self.count -= usize::from(*word & bit != 0);
        *word &= !bit;
    }

    fn extend(&mut self, other: &Values) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        self.count = self.words.iter().map(|word| word.count_ones() as usize).sum();
    }
}

/// By block, the values that are needed behind its instructions: by the terminator, or in the blocks that follow.
pub(crate) struct Liveness {
    ends: Vec<Values>,
}

impl Liveness {
    /// `None` for malformed functions.
    pub fn new(function: &Function) -> Option<Self> {
        let order = function.reverse_postorder().ok()?;
        let empty = Values::new(function);
        let mut starts = vec![empty.clone(); function.blocks.len()];
        let mut ends = vec![empty.clone(); function.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in order.iter().rev() {
                let data = function.block(*block);
                let mut live = empty.clone();
                if let Some((terminator, _)) = &data.terminator {
                    terminator.for_each_target(|target| live.extend(&starts[target.block.index()]));
                    terminator.for_each_value(|value| live.insert(value));
                }
                ends[block.index()] = live.clone();
                for inst in data.insts.iter().rev() {
                    inst.result.into_iter().for_each(|result| live.remove(result));
                    inst.op.for_each_value(|value| live.insert(value));
                }
                data.params.iter().for_each(|param| live.remove(*param));
                changed |= starts[block.index()] != live;
                starts[block.index()] = live;
            }
        }
        Some(Liveness { ends })
    }

    /// What is needed behind the instructions of a block.
    pub fn at_end(&self, block: Block) -> Values {
        self.ends[block.index()].clone()
    }
}

/// By block, those of some values that are needed at its start, its parameters included: `number` has the bit of each value in the sets,
/// which several may share, or `usize::MAX`. All numbers are below `count`.
pub(crate) fn live_at_starts(
    function: &Function,
    flow: &ControlFlow,
    number: &[usize],
    count: usize,
) -> Vec<Vec<u64>> {
    let mut starts = vec![vec![0u64; count.div_ceil(64)]; function.blocks.len()];
    let set = |live: &mut [u64], value: Value, needed: bool| {
        let index = number[value.index()];
        if index != usize::MAX {
            let bit = 1 << (index % 64);
            live[index / 64] = if needed { live[index / 64] | bit } else { live[index / 64] & !bit };
        }
    };
    let mut changed = true;
    while changed {
        changed = false;
        for block in flow.order.iter().rev() {
            let data = function.block(*block);
            let mut live = vec![0u64; count.div_ceil(64)];
            if let Some((terminator, _)) = &data.terminator {
                terminator.for_each_target(|target| {
                    let mut next = starts[target.block.index()].clone();
                    let params = &function.block(target.block).params;
                    params.iter().for_each(|param| set(&mut next, *param, false));
                    live.iter_mut().zip(&next).for_each(|(word, more)| *word |= more);
                });
                terminator.for_each_value(|value| set(&mut live, value, true));
            }
            for inst in data.insts.iter().rev() {
                inst.result.into_iter().for_each(|result| set(&mut live, result, false));
                inst.op.for_each_value(|value| set(&mut live, value, true));
            }
            changed |= starts[block.index()] != live;
            starts[block.index()] = live;
        }
    }
    starts
}
