//! A script whose names and types are known: what is compiled and what is run.

use crate::ast::{Binary, Source, Type, Unary};
use crate::token::At;

/// The chains of a script, and what they call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chains {
    /// As messages call the script.
    pub file: String,
    pub chains: Vec<Chain>,
    pub programs: Vec<Program>,
    /// Maps of programs that chains read.
    pub reads: Vec<MapRead>,
    /// What maps of programs are filled with.
    pub contents: Vec<Contents>,
    pub attachments: Vec<Attachment>,
}

/// `PROGRAM[MAP][KEY]`, which is 0 where the map has no such key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRead {
    /// The program's number.
    pub program: usize,
    pub map: String,
    /// How many parts the key has.
    pub parts: usize,
    pub at: At,
}

/// `PROGRAM[MAP] = { … }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The program's number.
    pub program: usize,
    pub map: String,
    /// Keys and values, by the parts that they have.
    pub entries: Vec<[Vec<Datum>; 2]>,
    /// Where each entry is.
    pub places: Vec<At>,
    pub at: At,
}

/// A part of a key or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datum {
    /// Of a negative number the bits.
    Number(u64),
    /// A chain, by its number.
    Chain(usize),
    Text(String),
}

/// `LOADER.attach('eth0', 'xdp')`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The loader's number among the programs.
    pub program: usize,
    pub device: String,
    pub mode: Mode,
    pub at: At,
}

/// Where programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver if it can.
    Any,
    Generic,
    Driver,
    /// On the network card.
    Offload,
}

/// A program that chains call, which is not part of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub source: Source,
    pub package: String,
    pub name: String,
    /// Where it is imported.
    pub at: At,
}

/// A chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub name: String,
    /// The first of its variables.
    pub parameters: usize,
    pub variables: Vec<Variable>,
    pub body: Vec<Line>,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub ty: Type,
}

/// A variable of a chain, by its number.
pub type VariableId = usize;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The value has the variable's type.
    Assign(VariableId, Value),
    /// What the call gives is not wanted.
    Call(Value),
    Return(Option<Value>),
    /// Conditions with their blocks, and what is done if none holds. They are asked in their order, and there can be very many.
    If {
        arms: Vec<(Value, Vec<Line>)>,
        otherwise: Vec<Line>,
    },
    /// The last lines of the body are done before the condition is asked again.
    While {
        condition: Value,
        body: Vec<Line>,
    },
}

/// What has a value, with its type, which has 32 or 64 bits but for variables and conversions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub kind: ValueKind,
    pub ty: Type,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Its bits, of which the type has the lowest.
    Number(u64),
    Variable(VariableId),
    /// As C converts numbers: bits are cut off, or added with the sign of what the number was.
    Convert(Box<Value>),
    Unary(Unary, Box<Value>),
    /// Both have one type, but for shifts and for `&&` and `||`, whose second one is only asked if the first does not decide.
    Binary(Binary, Box<[Value; 2]>),
    Call(Callee, Vec<Value>),
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A chain of the script, by its number.
    Chain(usize),
    /// A program, by its number.
    Program(usize),
    /// Bytes of the packet as a big-endian number of so many bits, at an offset from its start. A packet that ends before ends the chain.
    Read(u32),
    /// The same, written: offset and number. Gives 0.
    Write(u32),
    /// An entry of a map, by the number among [`Chains::reads`].
    Map(usize),
    /// The packet's verdict, by which it ends, from the program of that number. Scripts have no such call: what they call gives verdicts.
    Decide(usize),
}
