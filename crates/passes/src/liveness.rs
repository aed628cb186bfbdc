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
