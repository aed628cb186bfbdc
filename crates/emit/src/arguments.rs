//! Argument registers that a call does not take.
//!
//! The verifier takes a call of another function of the program for a use of r1 to r5, however many parameters the function has
//! (`compute_insn_live_regs`, kernel/bpf/verifier.c), and so for a use of whatever was left in them before. In a loop that tells
//! states apart that differ in nothing else. So the registers that a function does not take are set to 0 before it is called.

use crate::assemble::{CodeBlock, CodeWord, End, Reference};
use crate::isa::{self, Source};
use moonhook_ir::Module;

const MOST: u8 = 5;

/// Sets what calls do not take, where there are loops.
pub fn set_untaken(module: &Module, blocks: &mut [CodeBlock]) {
    if module.arena().is_some() || !blocks.iter().any(|block| matches!(block.end, End::MayGoto { .. })) {
        return;
    }
    for block in blocks {
        let mut at = 0;
        while let Some(CodeWord { loc, reference, .. }) = block.words.get(at).copied() {
            if let Some(Reference::Function(function)) = reference {
                let taken = module.function(function).params.len() as u8;
                let word = |register| isa::mov(register, Source::Imm(0));
                let words: Vec<CodeWord> = (taken + 1..=MOST)
                    .map(|register| CodeWord { word: word(register), loc, reference: None })
                    .collect();
                let added = words.len();
                block.words.splice(at..at, words);
                at += added;
            }
            at += 1;
        }
    }
}
