//! What nobody reads is not computed, and not stored.

use super::blocks::{Block, End, Graph};
use super::parts::{Bytes, PartSet, Parts, arguments, reached};
use super::state::State;
use super::values::Values;
use crate::assemble::CodeWord;
use crate::frame::MAX_STACK;
use crate::isa::{self, Source, Word, class};
use crate::registers::{Registers, bit, read, written};

/// What is still read: registers, and bytes of the frame, bit n for the byte n + 1 below the frame pointer.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Needed {
    registers: Registers,
    bytes: [u64; MAX_STACK as usize / 64],
}

impl Needed {
    fn join(&mut self, other: &Needed) {
        self.registers |= other.registers;
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(bytes, other)| *bytes |= other);
    }

    fn each(bytes: Bytes) -> impl Iterator<Item = (usize, u64)> {
        let numbers = bytes
            .filter(|offset| (-(MAX_STACK as i32)..0).contains(offset))
            .map(|offset| (-offset - 1) as usize);
        numbers.map(|number| (number / 64, 1 << (number % 64)))
    }

    fn add(&mut self, bytes: Bytes) {
        Needed::each(bytes).for_each(|(word, bit)| self.bytes[word] |= bit);
    }

    fn remove(&mut self, bytes: Bytes) {
        Needed::each(bytes).for_each(|(word, bit)| self.bytes[word] &= !bit);
    }

    fn has(&self, bytes: Bytes) -> bool {
        Needed::each(bytes).any(|(word, bit)| self.bytes[word] & bit != 0)
    }
}

/// What a word does with the frame.
#[derive(Clone)]
enum Access {
    None,
    /// Reads and writes some of these bytes, nobody knows which.
    Some(Vec<Bytes>),
    Load(Bytes),
    Store(Bytes),
    /// Reads what it writes.
    Both(Bytes),
}

/// Whether anything is left out.
pub fn run(graph: &mut Graph, values: &Values, parts: &Parts) -> bool {
    let accesses: Vec<Vec<Access>> =
        (0..graph.blocks.len()).map(|block| accesses(graph, block, values, parts)).collect();
    let keeps_zeros = graph.has_limited_loops();
    let mut needed = vec![Needed::default(); graph.blocks.len()];
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for block in (0..graph.blocks.len()).rev() {
            let mut here = at_end(graph, block, &needed);
            backwards(&graph.blocks[block], &accesses[block], keeps_zeros, &mut here, |_| {});
            is_changed |= needed[block] != here;
            needed[block] = here;
        }
    }
    let mut is_less = false;
    for (block, accesses) in accesses.iter().enumerate() {
        let mut here = at_end(graph, block, &needed);
        let mut dead = vec![false; graph.blocks[block].words.len()];
        backwards(&graph.blocks[block], accesses, keeps_zeros, &mut here, |index| dead[index] = true);
        is_less |= dead.contains(&true);
        let mut dead = dead.iter();
        graph.blocks[block].words.retain(|_| dead.next() == Some(&false));
    }
    is_less
}

/// By word, what it does with the frame.
fn accesses(graph: &Graph, block: usize, values: &Values, parts: &Parts) -> Vec<Access> {
    let mut accesses = vec![Access::None; graph.blocks[block].words.len()];
    values.each(graph, block, |index, word, state| {
        accesses[index] = access(&word.word, state, values.escaped, parts);
    });
    accesses
}

fn access(word: &Word, state: &State, escaped: PartSet, parts: &Parts) -> Access {
    let is_atomic = word.class() == class::STX && !word.is_plain_access();
    match word.class() {
        _ if word.is_call() => {
            let places = arguments(word).filter_map(|register| state.register(register).frame());
            let given = places.flat_map(|place| reached(word, place, parts));
            Access::Some(parts.bytes(escaped).chain(given).collect())
        }
        class::LDX | class::ST | class::STX => match state.bytes(word) {
            Some(bytes) if is_atomic => Access::Both(bytes),
            Some(bytes) if word.class() == class::LDX => Access::Load(bytes),
            Some(bytes) => Access::Store(bytes),
            // A number is no address of the frame, but that of an arena perhaps.
            None => Access::Some(parts.bytes(escaped).collect()),
        },
        _ => Access::None,
    }
}

/// What is needed where a block ends, but for the registers of its last word.
fn at_end(graph: &Graph, block: usize, needed: &[Needed]) -> Needed {
    let mut here = Needed::default();
    graph.successors(block).for_each(|to| here.join(&needed[to]));
    here.registers |= match graph.blocks[block].end {
        End::Return => bit(0),
        End::Jump(_) => 0,
        End::Branch { word, .. } => read(&word.word),
    };
    here
}

/// From what is needed at the end of a block to what is needed at its start. Calls `dead` with the index of each word that nobody needs.
fn backwards(
    block: &Block,
    accesses: &[Access],
    keeps_zeros: bool,
    here: &mut Needed,
    mut dead: impl FnMut(usize),
) {
    let mut index = block.words.len();
    while index > 0 {
        index -= 1;
        let is_second = index > 0 && block.words[index - 1].word.is_wide();
        index -= usize::from(is_second);
        let at = &block.words[index];
        let is_needed = match &accesses[index] {
            _ if keeps_zeros && is_zero(at) => true,
            Access::Store(bytes) => here.has(bytes.clone()),
            Access::None | Access::Load(_) | Access::Some(_) => {
                let is_computation =
                    matches!(at.word.class(), class::ALU | class::ALU64 | class::LDX) || at.word.is_wide();
                !is_computation || written(&at.word) & here.registers != 0
            }
            Access::Both(_) => true,
        };
        if !is_needed {
            dead(index);
            if is_second {
                dead(index + 1);
            }
            continue;
        }
        here.registers = here.registers & !written(&at.word) | needs(&at.word);
        match accesses[index].clone() {
            Access::None => {}
            Access::Store(bytes) => here.remove(bytes),
            Access::Load(bytes) | Access::Both(bytes) => here.add(bytes),
            Access::Some(all) => all.into_iter().for_each(|bytes| here.add(bytes)),
        }
    }
}

/// The registers that a word reads, of calls those that they take.
fn needs(word: &Word) -> Registers {
    match word.is_call() {
        true => arguments(word).fold(0, |set, register| set | bit(register)),
        false => read(word),
    }
}

/// Sets something to 0 that nobody may read any more, so that the verifier finds the same states in each turn of a loop.
fn is_zero(at: &CodeWord) -> bool {
    let word = at.word;
    let is_store = word.class() == class::ST && word.dst == isa::FRAME && word.imm == 0;
    is_store || word == isa::mov(word.dst, Source::Imm(0))
}
