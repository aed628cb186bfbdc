//! Words whose result is known become that result, and branches that always go one way are jumps.

use super::blocks::{Block, End, Graph};
use super::state::State;
use super::values::Values;
use crate::assemble::CodeWord;
use crate::isa::{self, FRAME, Source, Word, class};
use moonhook_ir::{BinaryOp, Size};

/// Whether anything is new.
pub fn run(graph: &mut Graph, values: &Values) -> bool {
    let mut is_changed = false;
    for index in 0..graph.blocks.len() {
        let mut words = Vec::with_capacity(graph.blocks[index].words.len());
        let state = values.each(graph, index, |at, word, state| {
            let next = graph.blocks[index].words.get(at + 1);
            let is_cleared = |word: &CodeWord| next.is_some_and(|next| clears(next, word));
            words.extend(simpler(word, state).filter(|word| !is_cleared(word)));
            if word.word.is_wide() {
                words.extend(graph.blocks[index].words.get(at + 1));
            }
        });
        let Some(state) = state else { continue };
        let Block { words: before, end, .. } = &mut graph.blocks[index];
        let end_before = std::mem::replace(end, simpler_end(*end, &state));
        is_changed |= *end != end_before || *before != words;
        *before = words;
    }
    is_changed
}

fn simpler_end(end: End, state: &State) -> End {
    let End::Branch { word, to, next } = end else { return end };
    match (state.where_goes(&word.word, true), state.where_goes(&word.word, false)) {
        (None, _) => End::Jump(next),
        (_, None) => End::Jump(to),
        _ => End::Branch { word: with_number(&word, state).unwrap_or(word), to, next },
    }
}

/// A word that does the same; `None` if it does nothing.
fn simpler(at: &CodeWord, state: &State) -> Option<CodeWord> {
    if at.reference.is_some() {
        return Some(*at);
    }
    let word = at.word;
    let is_short_move = word.class() == class::ALU && word.is_mov() && word.off == 0;
    if is_short_move && word.source() == Source::Register(word.dst) {
        let is_short = state.register(word.dst).bounds().most <= u64::from(u32::MAX);
        if is_short {
            return None;
        }
    }
    if let Some(number) = result(&word, state) {
        return Some(CodeWord { word: isa::mov(word.dst, Source::Imm(number)), ..*at });
    }
    if let (class::LDX, Some(register)) = (word.class(), state.same(&word)) {
        let is_other = register != word.dst;
        return is_other.then(|| CodeWord { word: isa::mov(word.dst, Source::Register(register)), ..*at });
    }
    let at = with_number(at, state).unwrap_or(*at);
    Some(CodeWord { word: in_frame(at.word, state), ..at })
}

/// The number that a word gives, if it gives one and that fits into an immediate.
fn result(word: &Word, state: &State) -> Option<i32> {
    let value = match word.class() {
        class::LDX => state.loaded(word),
        class::ALU | class::ALU64 => state.computed_number(word),
        _ => return None,
    };
    immediate(value.known()?)
}

/// Whether a word clears all bits that the one before it sets.
fn clears(next: &CodeWord, before: &CodeWord) -> bool {
    let is = |at: &CodeWord, op: BinaryOp| {
        at.word == isa::binary(op, at.word.dst, Source::Imm(at.word.imm)) && at.reference.is_none()
    };
    let is_both = is(before, BinaryOp::Or) && is(next, BinaryOp::And) && before.word.dst == next.word.dst;
    is_both && before.word.imm & next.word.imm == 0
}

fn immediate(number: u64) -> Option<i32> {
    i32::try_from(number as i64).ok()
}

/// The same with a number in the place of the register that is its second operand.
fn with_number(at: &CodeWord, state: &State) -> Option<CodeWord> {
    let word = at.word;
    let Source::Register(register) = word.source() else { return None };
    let number = |is_short: bool| {
        let number = state.register(register).known()?;
        if is_short { Some(number as u32 as i32) } else { immediate(number) }
    };
    let with = |imm: i32| Some(CodeWord { word: word.with_number(imm), ..*at });
    match word.class() {
        class::JMP | class::JMP32 if word.compare_op().is_some() => {
            with(number(word.class() == class::JMP32)?)
        }
        class::ALU | class::ALU64 if word.is_mov() && word.off == 0 => {
            with(number(word.class() == class::ALU)?)
        }
        class::ALU | class::ALU64 => {
            let imm = number(word.class() == class::ALU)?;
            // The kernel takes neither a division by 0 nor a shift by all bits where they are immediates.
            let is_taken = match word.binary_op()? {
                BinaryOp::UDiv | BinaryOp::UMod | BinaryOp::SDiv | BinaryOp::SMod => imm != 0,
                BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => (0..32).contains(&imm),
                _ => true,
            };
            with(imm).filter(|_| is_taken)
        }
        // Kernels before 6.4 take no immediates for fields of contexts (`check_mem_access`, kernel/bpf/verifier.c).
        class::STX if word.is_plain_access() && state.place(&word).is_some() => {
            let imm = number(word.size() != Size::B8)?;
            let store = isa::store(word.size(), word.dst, word.off, Source::Imm(imm));
            Some(CodeWord { word: store, ..*at })
        }
        _ => None,
    }
}

/// The same by way of the frame pointer.
fn in_frame(word: Word, state: &State) -> Word {
    let place = match word.class() {
        class::LDX | class::ST | class::STX => state.place(&word).and_then(|place| i16::try_from(place).ok()),
        _ => None,
    };
    match (place, word.class()) {
        (Some(off), class::LDX) => Word { src: FRAME, off, ..word },
        (Some(off), _) => Word { dst: FRAME, off, ..word },
        (None, _) => word,
    }
}
