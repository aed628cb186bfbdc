//! Spill slots at loops: what an iteration leaves in a slot that nothing reads any more is overwritten before the next.
//!
//! At a loop's head the verifier compares states strictly while the loop is still being walked: it looks into every stack
//! slot, dead ones included (`stacksafe` with `RANGE_WITHIN`, kernel/bpf/verifier.c). A slot that held now a constant and
//! now something else would make it walk the loop for every combination of such slots. Reads the assembled blocks; adds a
//! store of 0 to each slot that the loop writes and its head does not need: at the end of the blocks that jump back, or, where
//! one of them branches, at the start of the head itself. Where a loop is within another one, its own turns clear what they
//! have written, and the path into it clears what the loop around it has.

use crate::assemble::{CodeBlock, CodeWord, End};
use crate::isa::{self, Source, Word, class};
use moonhook_ir::Size;
use moonhook_ir::graph::{Dominators, Lists, components, reverse_postorder};
use std::collections::HashSet;

/// A set of spill slots by number: a frame of 512 bytes has 64 words.
type Slots = u64;

/// `first` is the displacement of the first spill slot: slots of the IR, whose addresses may be anywhere, lie above it. With `at_entry`, the slots are
/// clear from the function's entry on: its way into loops is not followed by itself.
pub fn clear(blocks: &mut [CodeBlock], first: i16, at_entry: bool) {
    let is_header = |block: &CodeBlock| matches!(block.end, End::MayGoto { .. });
    if !blocks.iter().any(is_header) {
        return;
    }
    let usage: Vec<Usage> = blocks.iter().map(|block| Usage::of(block, first)).collect();
    if usage.iter().all(|usage| usage.written == 0) {
        return;
    }
    let loops = Loops::new(blocks);
    let live = live_at_entry(&loops, &usage);
    let written = loops.written(&usage);
    let mut cleared = 0;
    for header in (0..blocks.len()).filter(|index| is_header(&blocks[*index])).collect::<Vec<_>>() {
        let backs: Vec<usize> = loops.before(header).filter(|block| loops.is_cycle(header, *block)).collect();
        let turn = loops.turn(header);
        let own = turn.iter().fold(0, |own, block| own | usage[*block].written);
        let (all, own) = (written[loops.component[header] as usize] & !live[header], own & !live[header]);
        cleared |= all;
        if backs.iter().any(|back| blocks[*back].end != End::Jump(header)) {
            // The head may write some of them itself, for what follows.
            clear_at(&mut blocks[header], 0, all, first);
            continue;
        }
        for back in backs {
            let end = blocks[back].words.len();
            clear_at(&mut blocks[back], end, if turn.contains(&back) { own } else { all }, first);
        }
    }
    clear_where_paths_meet(blocks, &loops, &usage, &live, first);
    if at_entry && loops.before(0).next().is_none() {
        clear_at(&mut blocks[0], 0, cleared, first);
    }
}

/// The combinations of so many meetings of paths are few.
const FEW_MEETINGS: usize = 8;

/// Within loops, paths that meet have to agree too: each that has written a slot that nobody reads any more clears it.
fn clear_where_paths_meet(
    blocks: &mut [CodeBlock],
    loops: &Loops,
    usage: &[Usage],
    live: &[Slots],
    first: i16,
) {
    let is_header = |block: usize| matches!(blocks[block].end, End::MayGoto { .. });
    let meets =
        |block: usize| loops.is_in_cycle(block) && !is_header(block) && loops.before(block).nth(1).is_some();
    // Slots written since the loop's head, as far as no meeting has cleared them.
    let mut written: Vec<Slots> = vec![0; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..blocks.len()).filter(|block| loops.is_in_cycle(*block)) {
            let before = loops.before(block).fold(0, |slots, from| slots | written[from]);
            let left = match (is_header(block), meets(block)) {
                (true, _) => 0,
                (false, true) => before & live[block],
                (false, false) => before,
            };
            changed |= written[block] != left | usage[block].written;
            written[block] = left | usage[block].written;
        }
    }
    let left = |from: usize, to: usize| written[from] & !live[to];
    let leaves_some = |block: &usize| loops.before(*block).any(|from| left(from, *block) != 0);
    let meetings: Vec<usize> = (0..blocks.len()).filter(|block| meets(*block)).filter(leaves_some).collect();
    if meetings.len() <= FEW_MEETINGS {
        return;
    }
    for meeting in meetings {
        let mut here = 0;
        for from in loops.before(meeting).collect::<Vec<_>>() {
            if blocks[from].end == End::Jump(meeting) {
                let end = blocks[from].words.len();
                clear_at(&mut blocks[from], end, left(from, meeting), first);
            } else {
                here |= left(from, meeting);
            }
        }
        clear_at(&mut blocks[meeting], 0, here, first);
    }
}

/// The last slot of a set comes first.
fn clear_at(block: &mut CodeBlock, place: usize, slots: Slots, first: i16) {
    let loc = block.loc;
    let store = |number: i16| isa::store(Size::B8, isa::FRAME, first - 8 * number, Source::Imm(0));
    let numbers = (0..64).rev().filter(|number| slots >> number & 1 == 1);
    let words = numbers.map(|number| CodeWord { word: store(number), loc, reference: None });
    block.words.splice(place..place, words);
}

/// The cycles among blocks.
pub struct Loops {
    after: Lists<u32>,
    before: Lists<u32>,
    dominators: Dominators,
    /// By block: those with the same number lead to one another.
    component: Vec<u32>,
    /// By component: how many blocks it has.
    sizes: Vec<u32>,
}

impl Loops {
    pub fn new(blocks: &[CodeBlock]) -> Loops {
        let after = Lists::new(blocks.len(), |edge| {
            for (index, block) in blocks.iter().enumerate() {
                successors(block).for_each(|to| edge(index, to as u32));
            }
        });
        let before = after.reversed();
        let order = reverse_postorder(&after);
        let dominators = Dominators::new(&order, blocks.len(), |node| before.of(node as usize));
        let component = components(&after);
        let mut sizes = vec![0; blocks.len()];
        component.iter().for_each(|number| sizes[*number as usize] += 1);
        Loops { after, before, dominators, component, sizes }
    }

    pub fn before(&self, block: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.before.of(block).iter().map(|from| *from as usize)
    }

    /// Whether a path leads from each of the two to the other one.
    fn is_cycle(&self, a: usize, b: usize) -> bool {
        self.component[a] == self.component[b] && self.is_in_cycle(a)
    }

    /// Whether a path leads from the block back to it, also by way of loops around it.
    fn is_in_cycle(&self, block: usize) -> bool {
        self.sizes[self.component[block] as usize] > 1 || self.before(block).any(|from| from == block)
    }

    /// The blocks on paths from one of `headers` back to it, also by way of loops around it.
    pub fn inside(&self, headers: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut wanted = vec![false; self.sizes.len()];
        headers
            .filter(|header| self.is_in_cycle(*header))
            .for_each(|header| wanted[self.component[header] as usize] = true);
        (0..self.component.len()).filter(|block| wanted[self.component[*block] as usize]).collect()
    }

    /// By component, what its blocks write, if paths lead from each to all.
    fn written(&self, usage: &[Usage]) -> Vec<Slots> {
        let mut written = vec![0; self.sizes.len()];
        for (block, usage) in usage.iter().enumerate().filter(|(block, _)| self.is_in_cycle(*block)) {
            written[self.component[block] as usize] |= usage.written;
        }
        written
    }

    /// The blocks of one turn of the loop with that header: not those of loops around it, which come back to it from outside.
    fn turn(&self, header: usize) -> HashSet<usize> {
        let inner = |from: &usize| !self.is_reached(*from) || self.dominators.dominates(header, *from);
        let mut turn = HashSet::from([header]);
        let mut work: Vec<usize> = self.before(header).filter(inner).collect();
        while let Some(block) = work.pop() {
            if turn.insert(block) {
                work.extend(self.before(block));
            }
        }
        turn
    }

    fn is_reached(&self, block: usize) -> bool {
        self.dominators.position(block) != u32::MAX
    }
}

/// What a block does to spill slots.
struct Usage {
    /// Read before it is written.
    read: Slots,
    written: Slots,
}

impl Usage {
    fn of(block: &CodeBlock, first: i16) -> Usage {
        let mut usage = Usage { read: 0, written: 0 };
        for CodeWord { word, .. } in &block.words {
            let Some((slot, is_load)) = slot(word).filter(|(slot, _)| *slot <= first) else { continue };
            let slot = 1 << ((first - slot) / 8);
            match is_load {
                true => usage.read |= slot & !usage.written,
                false => usage.written |= slot,
            }
        }
        usage
    }
}

/// The slot that a load or store relative to the frame pointer accesses, and whether it is a load.
pub fn slot(word: &Word) -> Option<(i16, bool)> {
    let (base, is_load) = match word.class() {
        class::LDX => (word.src, true),
        class::ST | class::STX => (word.dst, false),
        _ => return None,
    };
    (base == isa::FRAME).then_some((word.off, is_load))
}

/// The blocks that may follow.
pub fn successors(block: &CodeBlock) -> impl Iterator<Item = usize> {
    let (first, second) = match block.end {
        End::Jump(to) => (Some(to), None),
        End::Branch { then, otherwise, .. } => (Some(then), Some(otherwise)),
        End::MayGoto { go, stop } => (Some(go), Some(stop)),
        End::Return => (None, None),
    };
    first.into_iter().chain(second)
}

/// Slots that are read at a block's entry or later, before they are written.
fn live_at_entry(loops: &Loops, usage: &[Usage]) -> Vec<Slots> {
    let mut live: Vec<Slots> = usage.iter().map(|usage| usage.read).collect();
    let mut waits = vec![true; usage.len()];
    let mut work: Vec<usize> = (0..usage.len()).collect();
    while let Some(block) = work.pop() {
        waits[block] = false;
        let after = loops.after.of(block).iter().fold(0, |after, to| after | live[*to as usize]);
        let more = live[block] | after & !usage[block].written;
        if more != live[block] {
            live[block] = more;
            work.extend(loops.before(block).filter(|from| !std::mem::replace(&mut waits[*from], true)));
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::Loc;

    fn block(words: &[Word], end: End) -> CodeBlock {
        let words = words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None });
        CodeBlock { words: words.collect(), end, loc: Loc::default() }
    }

    #[test]
    fn only_what_the_loop_leaves_behind_is_cleared() {
        let store = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Register(1));
        let load = |slot| isa::load(Size::B8, false, 1, isa::FRAME, slot);
        let mut blocks = vec![
            block(&[store(-16), store(-8)], End::Jump(1)),
            block(&[], End::MayGoto { go: 2, stop: 4 }),
            // -16 is needed in every iteration, -24 only in this one, -8 is no spill slot.
            block(
                &[load(-16), store(-24), store(-8)],
                End::Branch {
                    op: moonhook_ir::CompareOp::Eq,
                    lhs: 1,
                    rhs: Source::Imm(0),
                    then: 3,
                    otherwise: 4,
                },
            ),
            block(&[load(-24), store(-16)], End::Jump(1)),
            block(&[store(-32)], End::Return),
        ];
        clear(&mut blocks, -16, false);
        let cleared: Vec<Word> = blocks[3].words[2..].iter().map(|word| word.word).collect();
        assert_eq!(cleared, [isa::store(Size::B8, isa::FRAME, -24, Source::Imm(0))]);
        assert_eq!(blocks[0].words.len() + blocks[2].words.len(), 5, "other blocks are as they were");
    }

    #[test]
    fn an_inner_loop_clears_its_own_slots_in_each_turn() {
        let store = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Register(1));
        let mut blocks = vec![
            block(&[], End::Jump(1)),
            block(&[], End::MayGoto { go: 2, stop: 6 }),
            block(&[store(-8)], End::Jump(3)),
            block(&[], End::MayGoto { go: 4, stop: 5 }),
            block(&[store(-16)], End::Jump(3)),
            block(&[store(-24)], End::Jump(1)),
            block(&[], End::Return),
        ];
        clear(&mut blocks, -8, false);
        let zero = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Imm(0));
        let added = |index: usize| -> Vec<Word> {
            blocks[index].words.iter().skip(1).map(|word| word.word).collect()
        };
        let all = [zero(-24), zero(-16), zero(-8)];
        assert_eq!((added(4), added(2), added(5)), (vec![zero(-16)], all.to_vec(), all.to_vec()));
    }

    #[test]
    fn a_head_that_a_branch_goes_back_to_clears_before_it_writes() {
        let store = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Register(1));
        let load = |slot| isa::load(Size::B8, false, 1, isa::FRAME, slot);
        let op = moonhook_ir::CompareOp::Eq;
        let mut blocks = vec![
            block(&[], End::Jump(1)),
            block(&[store(-8)], End::MayGoto { go: 2, stop: 3 }),
            block(
                &[load(-8), store(-16)],
                End::Branch { op, lhs: 1, rhs: Source::Imm(0), then: 1, otherwise: 3 },
            ),
            block(&[], End::Return),
        ];
        clear(&mut blocks, -8, false);
        let zero = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Imm(0));
        let head: Vec<Word> = blocks[1].words.iter().map(|word| word.word).collect();
        assert_eq!(head, [zero(-16), zero(-8), store(-8)]);
        assert_eq!(blocks[2].words.len(), 2);
    }

    #[test]
    fn paths_that_meet_in_a_loop_clear_what_one_of_them_wrote() {
        let store = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Register(1));
        let branch = |then, otherwise| End::Branch {
            op: moonhook_ir::CompareOp::Eq,
            lhs: 1,
            rhs: Source::Imm(0),
            then,
            otherwise,
        };
        // In each turn, as many times as there are `slots`, one path writes a slot and the other one does not.
        let cleared = |slots: usize| {
            let end = 3 * slots + 1;
            let mut blocks = vec![block(&[], End::MayGoto { go: 1, stop: end + 1 })];
            for number in 0..slots {
                let at = 3 * number + 1;
                blocks.push(block(&[], branch(at + 1, at + 2)));
                blocks.push(block(&[store(-8 * (number as i16 + 1))], End::Jump(at + 3)));
                blocks.push(block(&[], End::Jump(at + 3)));
            }
            blocks.push(block(&[], End::Jump(0)));
            blocks.push(block(&[], End::Return));
            clear(&mut blocks, -8, false);
            (0..slots).map(|number| blocks[3 * number + 2].words.len() - 1).collect::<Vec<_>>()
        };
        assert_eq!((cleared(9), cleared(8)), (vec![1; 9], vec![0; 8]));
    }
}
