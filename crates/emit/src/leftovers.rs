//! Spill slots at loops: what an iteration leaves in a slot that nothing reads any more is overwritten before the next.
//!
//! At a loop's head the verifier compares states strictly while the loop is still being walked: it looks into every stack
//! slot, dead ones included (`stacksafe` with `RANGE_WITHIN`, kernel/bpf/verifier.c). A slot that held now a constant and
//! now something else would make it walk the loop for every combination of such slots. Reads the assembled blocks; adds a
//! store of 0 to each slot that the loop writes and its head does not need: at the end of the blocks that jump back, or, where
//! one of them branches, at the start of the head itself. Where a loop is within another one, its own turns clear what they
//! have written, and the way into it clears what the loop around it has.

use crate::assemble::{CodeBlock, CodeWord, End};
use crate::isa::{self, Source, Word, class};
use moonhook_ir::Size;
use std::collections::BTreeSet;

/// Displacements from the frame pointer.
type Slots = BTreeSet<i16>;

/// `first` is the displacement of the first spill slot: slots of the IR, whose addresses may be anywhere, lie above it.
pub fn clear(blocks: &mut [CodeBlock], first: i16) {
    let headers: Vec<usize> =
        (0..blocks.len()).filter(|index| matches!(blocks[*index].end, End::MayGoto { .. })).collect();
    if headers.is_empty() {
        return;
    }
    let usage: Vec<Usage> = blocks.iter().map(|block| Usage::of(block, first)).collect();
    if usage.iter().all(|usage| usage.written.is_empty()) {
        return;
    }
    let live = live_at_entry(blocks, &usage);
    let predecessors = predecessors(blocks);
    for header in headers {
        let left = |body: &BTreeSet<usize>| -> Vec<i16> {
            let written: Slots =
                body.iter().flat_map(|block| usage[*block].written.iter().copied()).collect();
            written.difference(&live[header]).copied().collect()
        };
        let body = body(blocks, &predecessors, header);
        let backs: Vec<usize> =
            predecessors[header].iter().copied().filter(|block| body.contains(block)).collect();
        let (all, turn) = (left(&body), turn(blocks, &predecessors, header));
        let own = left(&turn);
        if backs.iter().any(|back| blocks[*back].end != End::Jump(header)) {
            // The head may write some of them itself, for what follows.
            clear_at(&mut blocks[header], 0, &all);
            continue;
        }
        for back in backs {
            let end = blocks[back].words.len();
            clear_at(&mut blocks[back], end, if turn.contains(&back) { &own } else { &all });
        }
    }
}

fn clear_at(block: &mut CodeBlock, place: usize, slots: &[i16]) {
    let loc = block.loc;
    let store = |slot: &i16| isa::store(Size::B8, isa::FRAME, *slot, Source::Imm(0));
    let words = slots.iter().map(|slot| CodeWord { word: store(slot), loc, reference: None });
    block.words.splice(place..place, words);
}

/// The blocks of one turn of the loop with that header: not those of loops around it, which come back to it from outside.
fn turn(blocks: &[CodeBlock], predecessors: &[Vec<usize>], header: usize) -> BTreeSet<usize> {
    let mut outside = BTreeSet::new();
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        if block != header && outside.insert(block) {
            work.extend(successors(&blocks[block]));
        }
    }
    let mut turn = BTreeSet::from([header]);
    let mut work: Vec<usize> =
        predecessors[header].iter().copied().filter(|block| !outside.contains(block)).collect();
    while let Some(block) = work.pop() {
        if turn.insert(block) {
            work.extend(&predecessors[block]);
        }
    }
    turn
}

/// What a block does to spill slots.
struct Usage {
    /// Read before it is written.
    read: Slots,
    written: Slots,
}

impl Usage {
    fn of(block: &CodeBlock, first: i16) -> Usage {
        let mut usage = Usage { read: Slots::new(), written: Slots::new() };
        for CodeWord { word, .. } in &block.words {
            match slot(word).filter(|slot| *slot <= first) {
                Some(slot) if word.class() != class::LDX => {
                    usage.written.insert(slot);
                }
                Some(slot) if !usage.written.contains(&slot) => {
                    usage.read.insert(slot);
                }
                _ => {}
            }
        }
        usage
    }
}

/// The slot that a load or store relative to the frame pointer accesses.
fn slot(word: &Word) -> Option<i16> {
    let base = match word.class() {
        class::LDX => word.src,
        class::ST | class::STX => word.dst,
        _ => return None,
    };
    (base == isa::FRAME).then_some(word.off)
}

fn successors(block: &CodeBlock) -> Vec<usize> {
    match block.end {
        End::Jump(to) => vec![to],
        End::Branch { then, otherwise, .. } => vec![then, otherwise],
        End::MayGoto { go, stop } => vec![go, stop],
        End::Return => vec![],
    }
}

pub fn predecessors(blocks: &[CodeBlock]) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (index, block) in blocks.iter().enumerate() {
        successors(block).into_iter().for_each(|to| predecessors[to].push(index));
    }
    predecessors
}

/// Slots that are read at a block's entry or later, before they are written.
fn live_at_entry(blocks: &[CodeBlock], usage: &[Usage]) -> Vec<Slots> {
    let mut live: Vec<Slots> = usage.iter().map(|usage| usage.read.clone()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..blocks.len()).rev() {
            for to in successors(&blocks[index]) {
                let more: Vec<i16> = live[to]
                    .difference(&usage[index].written)
                    .filter(|s| !live[index].contains(s))
                    .copied()
                    .collect();
                changed |= !more.is_empty();
                live[index].extend(more);
            }
        }
    }
    live
}

/// The blocks on ways from the header back to it, also by way of loops around it.
pub fn body(blocks: &[CodeBlock], predecessors: &[Vec<usize>], header: usize) -> BTreeSet<usize> {
    let mut after = BTreeSet::new();
    let mut work = vec![header];
    while let Some(block) = work.pop() {
        work.extend(successors(&blocks[block]).into_iter().filter(|to| after.insert(*to)));
    }
    let mut before = BTreeSet::new();
    let mut work = vec![header];
    while let Some(block) = work.pop() {
        work.extend(predecessors[block].iter().filter(|from| after.contains(from) && before.insert(**from)));
    }
    before
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
        clear(&mut blocks, -16);
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
        clear(&mut blocks, -8);
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
        clear(&mut blocks, -8);
        let zero = |slot| isa::store(Size::B8, isa::FRAME, slot, Source::Imm(0));
        let head: Vec<Word> = blocks[1].words.iter().map(|word| word.word).collect();
        assert_eq!(head, [zero(-16), zero(-8), store(-8)]);
        assert_eq!(blocks[2].words.len(), 2);
    }
}
