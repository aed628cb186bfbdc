//! Registers that a call leaves without a value, inside of loops.
//!
//! When the verifier meets a state in a loop again, it asks for the registers whose values mattered the first time to be precise
//! in the new state too, dead ones included (`propagate_precision`, kernel/bpf/verifier.c). If a call has taken the value of
//! such a register in between, it gives up with "verifier bug: … unexpected regs". So each block of a loop that ends with such a
//! register sets it to 0. A register mattered if it is read, or if it was a copy of one that is when the loop was entered.

use crate::assemble::{CodeBlock, CodeWord, End};
use crate::isa::{self, Source, Word, class};
use crate::leftovers::Loops;
use moonhook_ir::Size;
use std::collections::BTreeSet;

/// r1 to r5.
const ARGUMENTS: std::ops::RangeInclusive<u8> = 1..=5;

pub fn refill(blocks: &mut [CodeBlock]) {
    let headers: Vec<usize> =
        (0..blocks.len()).filter(|index| matches!(blocks[*index].end, End::MayGoto { .. })).collect();
    if headers.is_empty() {
        return;
    }
    let loops = Loops::new(blocks);
    let copies = copies_at_end(blocks, &loops);
    let entered: Vec<usize> = headers.iter().flat_map(|header| loops.before(*header)).collect();
    let inside = loops.inside(headers.into_iter());
    let mut carried: BTreeSet<u8> = inside.iter().flat_map(|block| read_first(&blocks[*block])).collect();
    carried.extend(
        ARGUMENTS.filter(|register| entered.iter().any(|block| copies[*block] & bit(*register) != 0)),
    );
    for block in inside {
        let lost = lost_at_end(&blocks[block]);
        let loc = blocks[block].loc;
        let words = carried.intersection(&lost).map(|register| CodeWord {
            word: isa::mov(*register, Source::Imm(0)),
            loc,
            reference: None,
        });
        let words: Vec<CodeWord> = words.collect();
        blocks[block].words.extend(words);
    }
}

fn is_call(word: &Word) -> bool {
    word.class() == class::JMP && word.code == isa::call_helper(0).code
}

/// The registers that a word writes, but for calls.
fn written(word: &Word) -> Option<u8> {
    matches!(word.class(), class::LDX | class::LD | class::ALU | class::ALU64).then_some(word.dst)
}

/// Argument registers that a block may read before it writes them.
fn read_first(block: &CodeBlock) -> Vec<u8> {
    let mut set = BTreeSet::new();
    let mut read = BTreeSet::new();
    for CodeWord { word, .. } in &block.words {
        if is_call(word) {
            read.extend(ARGUMENTS.filter(|register| !set.contains(register)));
            set.extend(ARGUMENTS);
            continue;
        }
        for register in [word.src, word.dst] {
            // A register that is only written counts as read: too many are better than too few.
            let first_write = written(word) == Some(register) && word.src != register && is_move(word);
            if !first_write && !set.contains(&register) {
                read.insert(register);
            }
        }
        set.extend(written(word));
    }
    if let End::Branch { lhs, rhs, .. } = &block.end {
        let operands =
            [Some(*lhs), if let Source::Register(register) = rhs { Some(*register) } else { None }];
        read.extend(operands.into_iter().flatten().filter(|register| !set.contains(register)));
    }
    read.into_iter().filter(|register| ARGUMENTS.contains(register)).collect()
}

/// A set of registers: bit n stands for register n.
type Registers = u16;

fn bit(register: u8) -> Registers {
    1 << register
}

/// By block, the registers that may have the same value as another register at its end, or one that differs by a constant:
/// those the verifier takes for one (`sync_linked_regs`).
fn copies_at_end(blocks: &[CodeBlock], loops: &Loops) -> Vec<Registers> {
    let mut copies = vec![0; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate() {
            let entry = loops.before(index).fold(0, |all, from| all | copies[from]);
            let end = copies_behind(block, entry);
            changed |= end != copies[index];
            copies[index] = end;
        }
    }
    copies
}

fn copies_behind(block: &CodeBlock, mut copies: Registers) -> Registers {
    for CodeWord { word, .. } in &block.words {
        if is_call(word) {
            ARGUMENTS.for_each(|register| copies &= !bit(register));
        } else if is_copy(word) {
            // Of a spill or fill one is the frame pointer, which is no argument.
            copies |= bit(word.dst) | bit(word.src);
        } else if let Some(register) = written(word).filter(|_| is_move(word)) {
            copies &= !bit(register);
        }
    }
    copies
}

/// From register to register, or to or from a spill slot.
fn is_copy(word: &Word) -> bool {
    let copy = isa::mov(0, Source::Register(0)).code;
    let spill = isa::store(Size::B8, isa::FRAME, 0, Source::Register(0)).code;
    let fill = isa::load(Size::B8, false, 0, isa::FRAME, 0).code;
    word.code == copy && word.off == 0
        || word.code == spill && word.dst == isa::FRAME
        || word.code == fill && word.src == isa::FRAME
}

/// Whether the word gives its destination a value that does not depend on the one before.
fn is_move(word: &Word) -> bool {
    let mov = isa::mov(0, Source::Imm(0)).code & 0xf0;
    match word.class() {
        class::LDX | class::LD => true,
        class::ALU | class::ALU64 => word.code & 0xf0 == mov,
        _ => false,
    }
}

/// Argument registers without a value at the end of a block that calls.
fn lost_at_end(block: &CodeBlock) -> BTreeSet<u8> {
    let mut lost = BTreeSet::new();
    for CodeWord { word, .. } in &block.words {
        if is_call(word) {
            lost.extend(ARGUMENTS);
        } else if let Some(register) = written(word) {
            lost.remove(&register);
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::{CompareOp, Loc};

    fn block(words: &[Word], end: End) -> CodeBlock {
        let words = words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None });
        CodeBlock { words: words.collect(), end, loc: Loc::default() }
    }

    #[test]
    fn a_copy_that_the_loop_does_not_read_gets_a_value_after_a_call() {
        let copy = isa::mov(0, Source::Register(2));
        let overwritten = [isa::mov(3, Source::Register(0)), isa::mov(3, Source::Imm(1))];
        let argument = |register| isa::mov(register, Source::Imm(1));
        let call: Vec<Word> = (1..=5).map(argument).chain([isa::call_function()]).collect();
        let mut blocks = vec![
            block(&[copy, overwritten[0], overwritten[1]], End::Jump(1)),
            block(&[], End::MayGoto { go: 2, stop: 3 }),
            block(&call, End::Jump(1)),
            block(&[], End::Return),
        ];
        refill(&mut blocks);
        let added: Vec<Word> = blocks[2].words[call.len()..].iter().map(|word| word.word).collect();
        assert_eq!(added, [isa::mov(2, Source::Imm(0))]);
    }

    #[test]
    fn a_register_that_the_loop_carries_gets_a_value_after_a_call() {
        let carried = isa::binary(moonhook_ir::BinaryOp::Add, 4, Source::Imm(1));
        let branch = End::Branch { op: CompareOp::Eq, lhs: 4, rhs: Source::Imm(0), then: 2, otherwise: 3 };
        let own = isa::mov(5, Source::Imm(7));
        let argument = |register| isa::mov(register, Source::Imm(1));
        let call: Vec<Word> = (1..=5).map(argument).chain([isa::call_function(), own]).collect();
        let mut blocks = vec![
            block(&[isa::mov(4, Source::Imm(1))], End::Jump(1)),
            block(&[carried], End::MayGoto { go: 4, stop: 3 }),
            block(&call, End::Jump(1)),
            block(&call, End::Return),
            block(&[], branch),
        ];
        refill(&mut blocks);
        let added: Vec<Word> = blocks[2].words[call.len()..].iter().map(|word| word.word).collect();
        assert_eq!(added, [isa::mov(4, Source::Imm(0))]);
        assert_eq!(blocks[3].words.len(), call.len(), "outside of the loop nothing is added");
    }
}
