//! Spill slots that several values share.
//!
//! The register allocator gives a value that it spills a slot from the first of its blocks to the last, in the order in which these are laid out,
//! and looks at ten slots only before it takes a new one: where a function is long, its frame has far more words than values that are needed
//! at once. Reads the assembled blocks; gives each value a slot that no other one needs at the same time. What the words do is the same.

use crate::assemble::{CodeBlock, CodeWord};
use crate::dead_spills::{slot, successors};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A value in a slot, by number: what some stores write for the loads that follow.
type Held = usize;

/// Gives values their slots anew, as few as it can; returns how many. `first` is the displacement of the first spill slot: slots of the IR, whose
/// addresses may be anywhere, lie above it.
pub fn share(blocks: &mut [CodeBlock], first: i16) -> usize {
    let values = Values::find(blocks, first);
    let slots = values.slots(blocks, first);
    for (index, block) in blocks.iter_mut().enumerate() {
        let mut held = values.at_entry[index].clone();
        let mut stores = values.stores[index].iter();
        for CodeWord { word, .. } in &mut block.words {
            let Some((old, is_load)) = slot(word).filter(|(slot, _)| *slot <= first) else { continue };
            let value = match is_load {
                true => held.get(&old).copied(),
                false => stores.next().copied(),
            };
            if let Some(value) = value {
                held.insert(old, value);
                word.off = first - 8 * slots[&values.of(value)] as i16;
            }
        }
    }
    slots.values().max().map_or(0, |last| last + 1)
}

/// The values of a function.
struct Values {
    /// By block and old slot: the value that is there at the block's start, if somebody reads it.
    at_entry: Vec<BTreeMap<i16, Held>>,
    /// By block: the values of its stores, in their order.
    stores: Vec<Vec<Held>>,
    /// By value: one that it is the same as, or itself.
    same: Vec<Held>,
}

impl Values {
    fn find(blocks: &[CodeBlock], first: i16) -> Values {
        let live = live_at_entry(blocks, first);
        let mut values = Values { at_entry: Vec::new(), stores: Vec::new(), same: Vec::new() };
        let mut at_end = Vec::with_capacity(blocks.len());
        for (slots, block) in live.iter().zip(blocks) {
            let mut held: BTreeMap<i16, Held> =
                slots.iter().map(|slot| (*slot, values.new_value())).collect();
            values.at_entry.push(held.clone());
            let mut stores = Vec::new();
            for (slot, is_load) in accesses(block, first) {
                if !is_load {
                    stores.push(values.new_value());
                    held.extend(stores.last().map(|value| (slot, *value)));
                }
            }
            values.stores.push(stores);
            at_end.push(held);
        }
        for (index, block) in blocks.iter().enumerate() {
            for to in successors(block) {
                for (slot, value) in values.at_entry[to].clone() {
                    if let Some(before) = at_end[index].get(&slot) {
                        values.unite(*before, value);
                    }
                }
            }
        }
        values
    }

    fn new_value(&mut self) -> Held {
        self.same.push(self.same.len());
        self.same.len() - 1
    }

    /// The value that stands for all that are the same.
    fn of(&self, mut value: Held) -> Held {
        while self.same[value] != value {
            value = self.same[value];
        }
        value
    }

    fn unite(&mut self, one: Held, other: Held) {
        let (one, other) = (self.of(one), self.of(other));
        // The first one stands for both, so that numbers follow the order of blocks.
        self.same[one.max(other)] = one.min(other);
    }

    /// By value, the first slot that no value has which is needed while this one is written, or contrariwise.
    fn slots(&self, blocks: &[CodeBlock], first: i16) -> HashMap<Held, usize> {
        let beside = self.beside(blocks, first);
        let mut slots = HashMap::new();
        for (value, others) in &beside {
            let taken: HashSet<usize> = others.iter().filter_map(|other| slots.get(other)).copied().collect();
            let free = (0..).find(|slot| !taken.contains(slot)).unwrap_or_default();
            slots.insert(*value, free);
        }
        slots
    }

    /// By value, in the order of blocks, those which cannot be in the same slot.
    fn beside(&self, blocks: &[CodeBlock], first: i16) -> BTreeMap<Held, BTreeSet<Held>> {
        let mut beside: BTreeMap<Held, BTreeSet<Held>> = BTreeMap::new();
        for held in self.at_entry.iter().flat_map(|held| held.values()) {
            beside.entry(self.of(*held)).or_default();
        }
        for (index, block) in blocks.iter().enumerate() {
            let after = successors(block).flat_map(|to| self.at_entry[to].values());
            let mut needed: HashSet<Held> = after.map(|value| self.of(*value)).collect();
            for (value, is_load) in self.accesses(index, block, first).into_iter().rev() {
                if is_load {
                    needed.insert(value);
                    continue;
                }
                needed.remove(&value);
                for other in &needed {
                    beside.entry(*other).or_default().insert(value);
                }
                beside.entry(value).or_default().extend(&needed);
            }
        }
        beside
    }

    /// The values that a block reads and writes.
    fn accesses(&self, index: usize, block: &CodeBlock, first: i16) -> Vec<(Held, bool)> {
        let mut held = self.at_entry[index].clone();
        let mut stores = self.stores[index].iter();
        let mut all = Vec::new();
        for (slot, is_load) in accesses(block, first) {
            if !is_load {
                held.extend(stores.next().map(|value| (slot, *value)));
            }
            all.extend(held.get(&slot).map(|value| (self.of(*value), is_load)));
        }
        all
    }
}

/// The spill slots that a block accesses, and whether it reads them.
fn accesses(block: &CodeBlock, first: i16) -> impl Iterator<Item = (i16, bool)> {
    block.words.iter().filter_map(|word| slot(&word.word)).filter(move |(slot, _)| *slot <= first)
}

/// By block, the slots that are read at its start or later, before they are written.
fn live_at_entry(blocks: &[CodeBlock], first: i16) -> Vec<BTreeSet<i16>> {
    let mut live = Vec::with_capacity(blocks.len());
    let mut written = Vec::with_capacity(blocks.len());
    let mut before = vec![Vec::new(); blocks.len()];
    for (index, block) in blocks.iter().enumerate() {
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for (slot, is_load) in accesses(block, first) {
            match is_load {
                true if !writes.contains(&slot) => drop(reads.insert(slot)),
                true => {}
                false => drop(writes.insert(slot)),
            }
        }
        live.push(reads);
        written.push(writes);
        successors(block).for_each(|to| before[to].push(index));
    }
    let mut work: Vec<usize> = (0..blocks.len()).collect();
    while let Some(block) = work.pop() {
        for from in &before[block] {
            let more: Vec<i16> = live[block]
                .iter()
                .filter(|slot| !written[*from].contains(slot) && !live[*from].contains(slot))
                .copied()
                .collect();
            if !more.is_empty() {
                live[*from].extend(more);
                work.push(*from);
            }
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::End;
    use crate::common::random::Random;
    use crate::isa::{self, Source, Word};
    use moonhook_ir::{CompareOp, Loc, Size};

    fn block(words: &[Word], end: End) -> CodeBlock {
        let words = words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None });
        CodeBlock { words: words.collect(), end, loc: Loc::default() }
    }

    fn store(slot: i16) -> Word {
        isa::store(Size::B8, isa::FRAME, slot, Source::Register(1))
    }

    fn load(slot: i16) -> Word {
        isa::load(Size::B8, false, 1, isa::FRAME, slot)
    }

    fn offsets(blocks: &[CodeBlock]) -> Vec<Vec<i16>> {
        blocks.iter().map(|block| block.words.iter().map(|word| word.word.off).collect()).collect()
    }

    fn branch(then: usize, otherwise: usize) -> End {
        End::Branch { op: CompareOp::Eq, lhs: 1, rhs: Source::Imm(0), then, otherwise }
    }

    #[test]
    fn values_that_are_not_needed_at_once_have_one_slot() {
        let mut blocks = vec![
            // -8 is a slot of the IR; -24 holds one value after another.
            block(&[store(-8), store(-16), store(-24), load(-24), store(-24)], branch(1, 2)),
            block(&[load(-16), store(-32), load(-32), load(-24)], End::Jump(3)),
            block(&[load(-24), store(-40), load(-40)], End::Jump(3)),
            block(&[], End::Return),
        ];
        assert_eq!(share(&mut blocks, -16), 2);
        assert_eq!(
            offsets(&blocks),
            [vec![-8, -16, -24, -24, -24], vec![-16, -16, -16, -24], vec![-24, -16, -16], vec![]]
        );
    }

    #[test]
    fn what_a_loop_carries_keeps_its_slot() {
        let mut blocks = vec![
            block(&[store(-8), store(-16)], End::Jump(1)),
            block(&[store(-24), load(-16), load(-24), store(-16)], branch(1, 2)),
            block(&[load(-8), store(-32), load(-32)], End::Return),
        ];
        assert_eq!(share(&mut blocks, -8), 3);
        assert_eq!(offsets(&blocks), [vec![-8, -16], vec![-24, -16, -24, -16], vec![-8, -8, -8]]);
    }

    /// What the loads of a walk through the blocks see: the number of the store that wrote it, if one did.
    fn seen(blocks: &[CodeBlock], walk: &[usize]) -> Vec<Option<usize>> {
        let (mut memory, mut seen, mut stores) = (HashMap::new(), Vec::new(), 0);
        for word in walk.iter().flat_map(|block| &blocks[*block].words) {
            match slot(&word.word) {
                Some((slot, true)) => seen.push(memory.get(&slot).copied()),
                Some((slot, false)) => {
                    memory.insert(slot, stores);
                    stores += 1;
                }
                None => {}
            }
        }
        seen
    }

    #[test]
    fn loads_see_what_they_saw_before() {
        const BLOCKS: usize = 12;
        let mut saved = 0;
        for seed in 1..300 {
            let mut random = Random::new(seed);
            let mut blocks = Vec::new();
            for _ in 0..BLOCKS {
                let words: Vec<Word> = (0..random.below(8))
                    .map(|_| {
                        let slot = -8 * (1 + random.below(20) as i16);
                        if random.below(2) == 0 { store(slot) } else { load(slot) }
                    })
                    .collect();
                blocks.push(block(&words, branch(random.below(BLOCKS), random.below(BLOCKS))));
            }
            let before = blocks.clone();
            saved += 20 - share(&mut blocks, -8).min(20);
            for _ in 0..20 {
                let mut walk = vec![0];
                for _ in 0..40 {
                    let next: Vec<usize> = successors(&blocks[walk[walk.len() - 1]]).collect();
                    walk.push(next[random.below(next.len())]);
                }
                for (old, new) in seen(&before, &walk).into_iter().zip(seen(&blocks, &walk)) {
                    assert!(old.is_none() || old == new, "seed {seed}");
                }
            }
        }
        assert!(saved > 500, "{saved}");
    }

    #[test]
    fn a_store_that_nobody_reads_harms_no_other_value() {
        let mut blocks = vec![block(&[store(-8), store(-16), load(-8)], End::Return)];
        assert_eq!(share(&mut blocks, -8), 2);
    }
}
