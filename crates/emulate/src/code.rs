//! Functions of all objects as they are executed: instructions taken apart, and the addresses of what they refer to.

use crate::fault::Place;
use crate::memory::{Address, Region};
use moonhook_link::{Function, Line, Object, Target};
use std::sync::Arc;

/// `struct bpf_insn`, with what it refers to.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub code: u8,
    pub dst: usize,
    pub src: usize,
    pub off: i16,
    pub imm: i32,
    pub reference: Option<Reference>,
}

#[derive(Clone, Debug)]
pub(crate) enum Reference {
    /// A function, by its number among those of all objects.
    Call(usize),
    /// What a load of 64 bits gives.
    Address(Address),
    Missing(String),
}

#[derive(Debug)]
pub(crate) struct Code {
    pub name: String,
    pub object: String,
    pub instructions: Vec<Instruction>,
    pub lines: Vec<Line>,
}

/// The functions of all objects.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub functions: Vec<Code>,
    /// For each object, the number of its first function, and how many it has.
    objects: Vec<(usize, usize)>,
}

/// For one object, what numbers its functions, data sections and maps have among all.
pub(crate) struct Numbers<'a> {
    pub function: usize,
    pub data: usize,
    pub maps: &'a [usize],
}

impl Program {
    pub fn add(&mut self, object: &Arc<Object>, numbers: &Numbers<'_>) {
        self.objects.push((self.functions.len(), object.functions.len()));
        self.functions.extend(object.functions.iter().map(|function| code(object, function, numbers)));
    }

    /// The number among all of a function of an object.
    pub fn function(&self, object: usize, function: usize) -> Option<usize> {
        let (first, length) = *self.objects.get(object)?;
        (function < length).then_some(first + function)
    }
}

fn code(object: &Object, function: &Function, numbers: &Numbers<'_>) -> Code {
    let mut instructions: Vec<Instruction> = function.code.iter().copied().map(instruction).collect();
    for reference in &function.references {
        if let Some(instruction) = instructions.get_mut(reference.slot) {
            instruction.reference = resolved(&reference.target, numbers);
        }
    }
    Code {
        name: function.name.clone(),
        object: object.name.clone(),
        instructions,
        lines: function.lines.clone(),
    }
}

fn instruction([code, registers, off0, off1, imm @ ..]: [u8; 8]) -> Instruction {
    Instruction {
        code,
        dst: usize::from(registers & 0xf),
        src: usize::from(registers >> 4),
        off: i16::from_le_bytes([off0, off1]),
        imm: i32::from_le_bytes(imm),
        reference: None,
    }
}

fn resolved(target: &Target, numbers: &Numbers<'_>) -> Option<Reference> {
    let region = |region, offset| Some(Reference::Address(Address::new(region, offset)));
    match target {
        Target::Call(function) => Some(Reference::Call(numbers.function + function)),
        Target::Function(function) => region(Region::Function(numbers.function + function), 0),
        Target::Map(map) => region(Region::Map(*numbers.maps.get(*map)?), 0),
        Target::Data { section, offset } => region(Region::Data(numbers.data + section), *offset),
        Target::Missing(name) => Some(Reference::Missing(name.clone())),
    }
}

impl Code {
    pub fn place(&self, slot: usize) -> Place {
        let line = self.lines.iter().rev().find(|line| line.slot <= slot);
        Place {
            object: self.object.clone(),
            function: self.name.clone(),
            slot,
            line: line.map(|line| (line.file.clone(), line.number)),
        }
    }
}
