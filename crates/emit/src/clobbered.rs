//! Registers that a call leaves without a value, inside of loops.
//!
//! When the verifier meets a state in a loop again, it asks for the registers whose values had to be precise the first time to be
//! precise in the new state too, dead ones included (`propagate_precision`, kernel/bpf/verifier.c). If a call has taken the value
//! of such a register in between, it gives up with "verifier bug: … unexpected regs". So each block of a loop that ends with such a
//! register sets it to 0. Every register with a value counts: where a parameter of the function has to be precise, all scalars of
//! all states on the path are (`mark_all_scalars_precise`), whoever reads them.

use crate::assemble::{CodeBlock, CodeWord, End};
use crate::dead_spills::Loops;
use crate::isa::{self, Source};
use crate::registers::{Registers, bit, written};

/// r1 to r5.
const ARGUMENTS: std::ops::RangeInclusive<u8> = 1..=5;

/// The function has `params` parameters, from r1 on.
pub fn refill(params: usize, blocks: &mut [CodeBlock]) {
    let headers: Vec<usize> =
        (0..blocks.len()).filter(|index| matches!(blocks[*index].end, End::MayGoto { .. })).collect();
    if headers.is_empty() {
        return;
    }
    let loops = Loops::new(blocks);
    let held = held_at_end(params, blocks, &loops);
    let entered: Vec<usize> = headers.iter().flat_map(|header| loops.before(*header)).collect();
    let inside = loops.inside(headers.into_iter());
    let carried = entered.iter().chain(&inside).fold(0, |all, block| all | held[*block]);
    for block in inside {
        let loc = blocks[block].loc;
        let lost = carried & Effect::of(&blocks[block]).lost;
        let words = ARGUMENTS.filter(|register| lost & bit(*register) != 0).map(|register| CodeWord {
            word: isa::mov(register, Source::Imm(0)),
            loc,
            reference: None,
        });
        blocks[block].words.extend(words);
    }
}

/// What a block does to argument registers.
struct Effect {
    /// Have a value at its end that it gave them.
    set: Registers,
    /// Have no value at its end, because of a call.
    lost: Registers,
}

impl Effect {
    fn of(block: &CodeBlock) -> Effect {
        let mut effect = Effect { set: 0, lost: 0 };
        for CodeWord { word, .. } in &block.words {
            let arguments = ARGUMENTS.fold(0, |all, register| all | bit(register));
            let written = written(word) & arguments;
            effect = match word.is_call() {
                true => Effect { set: 0, lost: arguments },
                false => Effect { set: effect.set | written, lost: effect.lost & !written },
            };
        }
        effect
    }
}

/// By block, the argument registers that may have a value at its end.
fn held_at_end(params: usize, blocks: &[CodeBlock], loops: &Loops) -> Vec<Registers> {
    let effects: Vec<Effect> = blocks.iter().map(Effect::of).collect();
    let given = ARGUMENTS.take(params).fold(0, |all, register| all | bit(register));
    let mut held = vec![0; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, effect) in effects.iter().enumerate() {
            let given = if index == 0 { given } else { 0 };
            let entry = loops.before(index).fold(given, |all, from| all | held[from]);
            let end = entry & !effect.lost | effect.set;
            changed |= end != held[index];
            held[index] = end;
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Word;
    use moonhook_ir::Loc;

    fn block(words: &[Word], end: End) -> CodeBlock {
        let words = words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None });
        CodeBlock { words: words.collect(), end, loc: Loc::default() }
    }

    fn argument(register: u8) -> Word {
        isa::mov(register, Source::Imm(1))
    }

    /// What is added to the calling block of a loop that is entered with these words.
    fn added(params: usize, entry: &[Word], behind_the_call: &[Word]) -> Vec<Word> {
        let mut call: Vec<Word> = (1..=5).map(argument).chain([isa::call_function()]).collect();
        call.extend(behind_the_call);
        let mut blocks = vec![
            block(entry, End::Jump(1)),
            block(&[], End::MayGoto { go: 2, stop: 3 }),
            block(&call, End::Jump(1)),
            block(&call, End::Return),
        ];
        refill(params, &mut blocks);
        assert_eq!(blocks[3].words.len(), call.len(), "outside of the loop nothing is added");
        blocks[2].words[call.len()..].iter().map(|word| word.word).collect()
    }

    #[test]
    fn a_register_with_a_value_at_the_entry_gets_one_after_a_call() {
        assert_eq!(added(0, &[argument(4)], &[]), [isa::mov(4, Source::Imm(0))]);
        assert_eq!(added(1, &[], &[]), [isa::mov(1, Source::Imm(0))], "parameters have values");
        assert_eq!(added(0, &[argument(4), isa::call_function()], &[]), [], "the value is lost before");
        assert_eq!(added(0, &[argument(4)], &[argument(4)]), [], "the block itself gives it one");
    }

    #[test]
    fn a_register_that_one_block_of_the_loop_sets_gets_a_value_after_the_call_of_another() {
        let branch = End::Branch {
            op: moonhook_ir::CompareOp::Eq,
            lhs: 6,
            rhs: Source::Imm(0),
            then: 3,
            otherwise: 2,
        };
        let call = [isa::call_function()];
        let mut blocks = vec![
            block(&[], End::Jump(1)),
            block(&[], End::MayGoto { go: 4, stop: 5 }),
            block(&[argument(3)], End::Jump(3)),
            block(&call, End::Jump(1)),
            block(&[], branch),
            block(&[], End::Return),
        ];
        refill(0, &mut blocks);
        assert_eq!(
            blocks[3].words[1..].iter().map(|word| word.word).collect::<Vec<_>>(),
            [isa::mov(3, Source::Imm(0))]
        );
    }
}
