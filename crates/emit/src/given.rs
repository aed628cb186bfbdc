//! Functions that another compiler has made: their words as they are, and how much stack these take.

use crate::assemble::{CodeWord, Reference};
use crate::error::EmitError;
use crate::frame::MAX_STACK;
use crate::isa::{self, Source, Word, class};
use crate::lines::{Item, Lines};
use crate::program::Code;
use moonhook_ir::{BinaryOp, CompareOp, Given, GivenReference};

/// The code of a function.
///
/// # Errors
/// It refers to something with a word that it does not have.
pub fn code(function: &str, given: &Given) -> Result<Code, EmitError> {
    let mut words: Vec<CodeWord> = (given.words.iter().zip(given.locs.iter()))
        .map(|(bytes, loc)| CodeWord { word: Word::of_bytes(*bytes), loc: *loc, reference: None })
        .collect();
    let starts: Vec<usize> = given
        .references
        .iter()
        .filter(|(_, reference)| *reference == GivenReference::Start)
        .map(|(slot, _)| *slot)
        .collect();
    for (slot, reference) in &given.references {
        let Some(word) = words.get_mut(*slot) else {
            return Err(EmitError::Malformed { problem: format!("{function}: a reference behind its end") });
        };
        let (reference, number) = match reference {
            GivenReference::Call(callee) => (Reference::Function(*callee), isa::call_function().imm),
            GivenReference::Function(callee) => (Reference::Callback(*callee), 0),
            GivenReference::Map(map) => (Reference::Map(*map), 0),
            GivenReference::Data(map, offset) => (Reference::Data(*map), *offset as i32),
            GivenReference::Start => continue,
        };
        word.word.imm = number;
        word.reference = Some(reference);
    }
    if !starts.is_empty() {
        let malformed = || EmitError::Malformed { problem: format!("{function}: jumps out of its code") };
        words = with_ends(&words, &starts).ok_or_else(malformed)?;
    }
    crate::check_size(function, words.len())?;
    let (stack, _) = stack(&words);
    Ok(Code { words, offset: 0, stack, parts: std::iter::once(-(stack as i32)..0).collect() })
}

/// The code with ends in the place of the calls in `starts`; its other ends give no number that one of these gives. What follows stays reached, as far as the kernel sees before it looks at values
/// (`check_cfg`, kernel/bpf/verifier.c), which takes no code that is not.
fn with_ends(words: &[CodeWord], starts: &[usize]) -> Option<Vec<CodeWord>> {
    let mut lines = Lines::of(words);
    let items = std::mem::take(&mut lines.items);
    for (index, item) in items.into_iter().enumerate() {
        if item.word.word.code == isa::exit().code {
            end_without_start(&mut lines, item);
            continue;
        }
        if !starts.contains(&index) {
            lines.items.push(item);
            continue;
        }
        end_with_start(&mut lines, item);
    }
    lines.join()
}

/// Ends a function with the number of a chain in its second argument. One that is too large to be told by [`GivenReference::STARTS`] is none that a chain
/// has: 0.
fn end_with_start(lines: &mut Lines, call: Item) {
    let here = |word: Word| CodeWord { word, loc: call.word.loc, reference: None };
    let starts = Source::Imm(GivenReference::STARTS as i32);
    let (asks, is_number) = (lines.next_id(), lines.next_id());
    lines.items.push(Item { word: here(isa::mov32(0, 2)), to: None, ..call });
    let question = here(isa::jump_if(CompareOp::ULt, 0, starts, 0));
    lines.items.push(Item { id: asks, word: question, to: Some(is_number), is_there: true });
    lines.add(here(isa::mov(0, Source::Imm(0))));
    lines.add(here(isa::exit()));
    let number = here(isa::binary(BinaryOp::Or, 0, starts));
    lines.place(is_number, number);
    lines.add(number);
    let (branch, behind) = (lines.next_id(), lines.next_id());
    let skip = here(isa::jump_if(CompareOp::Eq, 0, Source::Imm(0), 0));
    lines.items.push(Item { id: branch, word: skip, to: Some(behind), is_there: true });
    lines.add(here(isa::exit()));
    lines.place(behind, here(isa::exit()));
}

/// Ends a function: 32 bits that would start a chain become 0, which is no verdict but that of packets that are aborted (`XDP_ABORTED`).
fn end_without_start(lines: &mut Lines, end: Item) {
    let here = |word: Word| CodeWord { word, loc: end.word.loc, reference: None };
    let (asks, behind) = (lines.next_id(), lines.next_id());
    let question = isa::jump_if(CompareOp::ULt, 0, Source::Imm(GivenReference::STARTS as i32), 0);
    lines.items.push(Item { id: end.id, word: here(isa::mov32(0, 0)), to: None, is_there: true });
    lines.items.push(Item { id: asks, word: here(question), to: Some(behind), is_there: true });
    lines.add(here(isa::mov(0, Source::Imm(0))));
    lines.place(behind, end.word);
    lines.add(end.word);
}

/// Bytes below the frame pointer that a function uses as far as it shows, and whether it shows: addresses can be computed in ways that
/// compilers do not use.
pub fn stack(words: &[CodeWord]) -> (u32, bool) {
    let (mut lowest, mut is_all) = (0, true);
    for (index, CodeWord { word, .. }) in words.iter().enumerate() {
        let depth = match accesses(word) {
            Some(off) => i32::from(off),
            None if copies_frame_pointer(word) => {
                let added = added(words.get(index + 1), word.dst);
                is_all &= added.is_some() && isa::mov(word.dst, Source::Register(isa::FRAME)) == *word;
                added.unwrap_or_default()
            }
            None => continue,
        };
        lowest = depth.min(lowest);
    }
    (lowest.unsigned_abs().min(MAX_STACK).next_multiple_of(8), is_all)
}

/// The displacement of an access by way of the frame pointer.
fn accesses(word: &Word) -> Option<i16> {
    let base = match word.class() {
        class::LDX => word.src,
        class::ST | class::STX => word.dst,
        _ => return None,
    };
    let stores_it = word.class() == class::STX && word.src == isa::FRAME;
    (base == isa::FRAME && !stores_it).then_some(word.off)
}

/// `rN = r10`, or what else takes the frame pointer itself.
fn copies_frame_pointer(word: &Word) -> bool {
    let uses_source =
        matches!(word.class(), class::ALU | class::ALU64) && word.code & isa::SOURCE_REGISTER != 0;
    word.src == isa::FRAME && (uses_source || word.class() == class::STX)
}

/// What the next word adds to a register: `rN += number`.
pub fn added(next: Option<&CodeWord>, register: u8) -> Option<i32> {
    let word = next?.word;
    let add = isa::binary(BinaryOp::Add, register, Source::Imm(word.imm));
    (word == add).then_some(word.imm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::{Loc, Size};

    fn words(words: &[Word]) -> Vec<CodeWord> {
        words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None }).collect()
    }

    #[test]
    fn the_stack_is_what_words_reach() {
        let store = isa::store(Size::B4, isa::FRAME, -20, Source::Register(3));
        let address = isa::mov(2, Source::Register(isa::FRAME));
        let add = |number| isa::binary(BinaryOp::Add, 2, Source::Imm(number));
        let keep = isa::store(Size::B8, isa::FRAME, -8, Source::Register(isa::FRAME));
        assert_eq!(stack(&words(&[isa::exit()])), (0, true));
        assert_eq!(stack(&words(&[store, isa::exit()])), (24, true));
        assert_eq!(stack(&words(&[store, address, add(-40), isa::exit()])), (40, true));
        assert_eq!(stack(&words(&[address, isa::exit()])), (0, false), "who knows what is done with it");
        assert_eq!(stack(&words(&[keep, isa::exit()])), (0, false));
        assert_eq!(stack(&words(&[isa::load(Size::B8, false, 3, isa::FRAME, -64)])), (64, true));
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for word in [
            isa::mov(2, Source::Register(isa::FRAME)),
            isa::jump_if(moonhook_ir::CompareOp::SGt, 7, Source::Imm(-9), -3),
        ] {
            assert_eq!(Word::of_bytes(word.bytes()), word);
        }
    }
}
