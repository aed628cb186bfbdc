//! Paths that meet in a loop leave the same in registers.
//!
//! A state in a loop that the verifier has not left yet is compared with all of another one, registers that nobody reads included (RANGE_WITHIN in
//! `states_equal`, kernel/bpf/verifier.c): paths that differ in what they have left there are followed separately, each to the loop's end. Here
//! whoever jumps to where paths meet sets to 0 what is not needed there, unless it is 0 already. This is for functions with many short ways round long ones
//! (`ir::Function::alike`): others have less to gain than the instructions cost.

use crate::assemble::{CodeBlock, CodeWord, End, Reference};
use crate::dead_spills::Loops;
use crate::isa::{self, Source, Word};
use crate::registers::{Registers, bit, read, written};
use moonhook_ir::{CompareOp, Loc, Module};

/// r0 to r5: all others have something that is needed, or are kept by calls.
const SCRATCH: Registers = 0b11_1111;

/// Of a function of the module.
pub fn make(module: &Module, blocks: &mut Vec<CodeBlock>) {
    let is_head = |index: &usize| matches!(blocks[*index].end, End::MayGoto { .. });
    let headers: Vec<usize> = (0..blocks.len()).filter(is_head).collect();
    let loops = Loops::new(blocks);
    let mut inside = vec![false; blocks.len()];
    loops.inside(headers.iter().copied()).into_iter().for_each(|block| inside[block] = true);
    let met: Vec<bool> =
        (0..blocks.len()).map(|block| inside[block] && meets(blocks, &loops, block)).collect();
    let needed = needed(module, blocks);
    let known = zeros(blocks, &loops, &needed, &met);
    for head in headers.into_iter().filter(|head| inside[*head]) {
        // What is compared is the state before the jump.
        let behind = targets(&blocks[head].end).into_iter().fold(0, |all, to| all | needed[to]);
        let words = zero_words(blocks[head].loc, SCRATCH & !behind & !known[head]);
        blocks[head].words.extend(words);
    }
    let zeros = zeros(blocks, &loops, &needed, &met);
    let all = blocks.len();
    for block in (0..all).filter(|block| met[*block]) {
        let missing =
            |from: usize| SCRATCH & !needed[block] & !(zeros[from] | by_branch(&blocks[from].end, block));
        // The way into the loop, too: what it leaves there would be with all that is behind.
        let ways: Vec<(usize, Registers)> = loops.before(block).map(|from| (from, missing(from))).collect();
        if ways.iter().all(|(from, _)| matches!(blocks[*from].end, End::Branch { .. })) {
            // As many blocks between would be more code than it saves the verifier.
            let words = zero_words(blocks[block].loc, ways.iter().fold(0, |all, (_, missing)| all | missing));
            blocks[block].words.splice(0..0, words);
            continue;
        }
        for (from, missing) in ways.into_iter().filter(|(_, missing)| *missing != 0) {
            set_to_zero(blocks, from, block, missing);
        }
    }
}

/// Whether paths meet at a block that do not become alike in it: after a call they are.
fn meets(blocks: &[CodeBlock], loops: &Loops, block: usize) -> bool {
    loops.before(block).count() > 1 && !blocks[block].words.iter().any(|word| word.word.is_call())
}

/// Sets the registers to 0 on the way from one block to another.
fn set_to_zero(blocks: &mut Vec<CodeBlock>, from: usize, to: usize, registers: Registers) {
    let loc = blocks[from].loc;
    let words = zero_words(loc, registers);
    if blocks[from].end == End::Jump(to) {
        return blocks[from].words.extend(words);
    }
    let words = words.collect();
    let between = blocks.len();
    blocks.push(CodeBlock { words, end: End::Jump(to), loc });
    let lead = |target: &mut usize| {
        if *target == to {
            *target = between;
        }
    };
    match &mut blocks[from].end {
        End::Branch { then, otherwise, .. } => [then, otherwise].into_iter().for_each(lead),
        End::MayGoto { go, stop } => [go, stop].into_iter().for_each(lead),
        End::Jump(_) | End::Return => {}
    }
}

fn zero_words(loc: Loc, registers: Registers) -> impl Iterator<Item = CodeWord> {
    let word = move |register| CodeWord { word: zero(register), loc, reference: None };
    (0..6).filter(move |register| registers & bit(*register) != 0).map(word)
}

fn zero(register: u8) -> Word {
    isa::mov(register, Source::Imm(0))
}

fn targets(end: &End) -> Vec<usize> {
    match *end {
        End::Jump(to) => vec![to],
        End::Branch { then, otherwise, .. } if then == otherwise => vec![then],
        End::Branch { then, otherwise, .. } => vec![then, otherwise],
        End::MayGoto { go, stop } => vec![go, stop],
        End::Return => Vec::new(),
    }
}

/// What a conditional jump tells to be 0 on the way to a block.
fn by_branch(end: &End, to: usize) -> Registers {
    match *end {
        End::Branch { op: CompareOp::Eq, lhs, rhs: Source::Imm(0), then, otherwise }
            if then == to && otherwise != to =>
        {
            bit(lhs)
        }
        End::Branch { op: CompareOp::Ne, lhs, rhs: Source::Imm(0), then, otherwise }
            if otherwise == to && then != to =>
        {
            bit(lhs)
        }
        _ => 0,
    }
}

/// By block, the registers that are read from its start on.
fn needed(module: &Module, blocks: &[CodeBlock]) -> Vec<Registers> {
    let of_end = |end: &End| match end {
        End::Branch { lhs, rhs: Source::Register(rhs), .. } => bit(*lhs) | bit(*rhs),
        End::Branch { lhs, .. } => bit(*lhs),
        End::Return => bit(0),
        End::Jump(_) | End::MayGoto { .. } => 0,
    };
    let mut needed = vec![0; blocks.len()];
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            let behind = targets(&block.end).into_iter().fold(of_end(&block.end), |all, to| all | needed[to]);
            let words = block.words.iter().rev();
            let at_start = words.fold(behind, |all, word| all & !written(&word.word) | read_by(module, word));
            is_changed |= at_start != needed[index];
            needed[index] = at_start;
        }
    }
    needed
}

/// The registers that a word reads; a call of a function, as many as that has parameters.
fn read_by(module: &Module, word: &CodeWord) -> Registers {
    match word.reference {
        Some(Reference::Function(id)) if word.word.is_call() => {
            (1..=module.function(id).params.len() as u8).map(bit).fold(0, |all, one| all | one)
        }
        _ => read(&word.word),
    }
}

/// By block, the registers that are 0 at its end, if those that are not needed where paths meet are.
fn zeros(blocks: &[CodeBlock], loops: &Loops, needed: &[Registers], met: &[bool]) -> Vec<Registers> {
    let mut zeros = vec![SCRATCH; blocks.len()];
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for (index, block) in blocks.iter().enumerate() {
            let start = if index == 0 { 0 } else { SCRATCH };
            let given = |from: usize| zeros[from] | by_branch(&blocks[from].end, index);
            let start = loops.before(index).fold(start, |all, from| all & given(from));
            let start = if met[index] { start | SCRATCH & !needed[index] } else { start };
            let end = block.words.iter().fold(start, |all, CodeWord { word, .. }| {
                let set = (0..6).find(|register| *word == zero(*register)).map_or(0, bit);
                all & !written(word) | set
            });
            is_changed |= end != zeros[index];
            zeros[index] = end;
        }
    }
    zeros
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::Size;

    fn block(words: &[Word], end: End) -> CodeBlock {
        let words = words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None });
        CodeBlock { words: words.collect(), end, loc: Loc::default() }
    }

    fn words(block: &CodeBlock) -> Vec<Word> {
        block.words.iter().map(|word| word.word).collect()
    }

    /// A loop with a short way (2) and a long one (3), which meet in 4.
    fn diamond(short: &[Word], long: &[Word], met: &[Word]) -> Vec<CodeBlock> {
        let branch = End::Branch { op: CompareOp::Ne, lhs: 7, rhs: Source::Imm(0), then: 3, otherwise: 2 };
        let mut blocks = vec![
            block(&[], End::MayGoto { go: 1, stop: 5 }),
            block(&[], branch),
            block(short, End::Jump(4)),
            block(long, End::Jump(4)),
            block(met, End::Jump(0)),
            block(&[zero(0)], End::Return),
        ];
        make(&Module::default(), &mut blocks);
        blocks
    }

    #[test]
    fn each_way_sets_what_it_has_changed() {
        let load = |register| isa::load(Size::B8, false, register, 6, 0);
        let blocks = diamond(&[load(1), load(2)], &[load(5)], &[]);
        let all: Vec<Word> = (0..6).map(zero).collect();
        assert_eq!(words(&blocks[0]), all, "what the loop is entered with is unknown");
        assert_eq!(words(&blocks[2]), [load(1), load(2), zero(1), zero(2)]);
        assert_eq!(words(&blocks[3]), [load(5), zero(5)]);
        assert_eq!(words(&blocks[4]), []);
    }

    #[test]
    fn what_is_needed_stays() {
        let load = |register| isa::load(Size::B8, false, register, 6, 0);
        let store = isa::store(Size::B8, 6, 0, Source::Register(3));
        let blocks = diamond(&[load(3), load(4)], &[load(3)], &[store]);
        assert_eq!(words(&blocks[2]), [load(3), load(4), zero(4)]);
        assert_eq!(words(&blocks[3]), [load(3)]);
    }

    #[test]
    fn a_call_makes_paths_alike() {
        let call = isa::call_function();
        let blocks = diamond(&[zero(0)], &[], &[call]);
        assert_eq!((words(&blocks[2]), words(&blocks[4])), (vec![zero(0)], vec![call]));
    }

    #[test]
    fn a_test_tells_what_is_zero() {
        let branch = End::Branch { op: CompareOp::Eq, lhs: 0, rhs: Source::Imm(0), then: 3, otherwise: 2 };
        let load = isa::load(Size::B8, false, 0, 6, 0);
        let before: Vec<Word> = (1..6).map(zero).chain([load]).collect();
        let mut blocks = vec![
            block(&[], End::MayGoto { go: 1, stop: 4 }),
            block(&before, branch),
            block(&[load], End::Jump(3)),
            block(&[], End::Jump(0)),
            block(&[zero(0)], End::Return),
        ];
        make(&Module::default(), &mut blocks);
        assert_eq!(blocks.len(), 5, "nothing is put between");
        assert_eq!(words(&blocks[2]), [load, zero(0)]);
    }
}
