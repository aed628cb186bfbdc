//! Paths of control flow that meet: what may differ between them, and how it is represented beyond.

use crate::state::{Slot, State};
use crate::value::{Abs, Union, Variant, Word};
use moonhook_ir::words::Path;
use moonhook_packet::Key;
use std::rc::Rc;

/// Constant strings kept apart in a union; with more of them they become slices of the pool.
pub const MAX_TEXTS: usize = 8;

/// A part of the state that can vary in a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    Register(usize),
    Cell(u32),
    Budget,
    Scratch,
    Heap,
    /// A word of a header that was parsed: which it is and the word's number.
    Parsed(Key, usize),
}

/// How a variable is represented beyond a join.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// The same on all paths.
    Same(Abs),
    One(Variant),
    /// Sorted.
    Union(Vec<Variant>),
}

/// One of the paths that meet.
pub type Arm = Path<State, Vec<Abs>>;

impl Form {
    /// How many block parameters it takes.
    pub fn words(&self) -> usize {
        match self {
            Form::Same(_) => 0,
            Form::One(variant) => variant.words(),
            Form::Union(variants) => 1 + variants.iter().map(|variant| variant.words()).max().unwrap_or(0),
        }
    }
}

impl Form {
    /// The value that the words of the form stand for.
    pub fn value(&self, words: &[Word]) -> Abs {
        let word = |index: usize| words.get(index).copied().unwrap_or(Word::Imm(0));
        match self {
            Form::Same(value) => value.clone(),
            Form::One(variant) => variant.value([word(0), word(1)]).unwrap_or(Abs::Nil),
            Form::Union(variants) => Abs::Union(Rc::new(Union {
                variants: variants.clone(),
                tag: word(0),
                payload: [word(1), word(2)],
            })),
        }
    }

    /// Which of its words may be an entry's address.
    pub fn address(&self) -> Option<usize> {
        let is_entry = |variant: &Variant| matches!(variant, Variant::Entry(_));
        match self {
            Form::One(variant) if is_entry(variant) => Some(0),
            Form::Union(variants) if variants.iter().any(is_entry) => Some(1),
            _ => None,
        }
    }
}

pub fn read_variable(state: &State, variable: Variable) -> Abs {
    match variable {
        Variable::Register(register) => match state.registers.get(register) {
            Some(Slot::Direct(value)) => value.clone(),
            Some(Slot::Cell(cell)) => state.cells.get(cell).cloned().unwrap_or(Abs::Nil),
            Some(Slot::Dead) | None => Abs::Nil,
        },
        Variable::Cell(cell) => state.cells.get(&cell).cloned().unwrap_or(Abs::Nil),
        Variable::Budget => Abs::Int(state.budget),
        Variable::Scratch => Abs::Int(state.scratch),
        Variable::Heap => Abs::Int(state.heap),
        Variable::Parsed(key, number) => {
            let word = state.facts.packet.parsed(key).and_then(|words| words.get(number)).copied();
            Abs::Int(word.unwrap_or(Word::Imm(0)))
        }
    }
}

pub fn write_variable(state: &mut State, variable: Variable, value: Abs) {
    match (variable, value) {
        (Variable::Register(register), value) => state.registers[register] = Slot::Direct(value),
        (Variable::Cell(cell), value) => {
            state.cells.insert(cell, value);
        }
        (Variable::Budget, Abs::Int(word)) => state.budget = word,
        (Variable::Scratch, Abs::Int(word)) => state.scratch = word,
        (Variable::Heap, Abs::Int(word)) => state.heap = word,
        (Variable::Parsed(key, number), Abs::Int(word)) => {
            if let Some(place) = state.facts.packet.parsed_word(key, number) {
                *place = word;
            }
        }
        _ => {}
    }
}
