//! What registers hold while a function is compiled.

use moonhook_ir::Value;
use std::rc::Rc;

/// The contents of a register.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    Constant(i64),
    Integer(Value),
    /// 0 or 1; the result of a comparison.
    Truth(Value),
    /// A function, or the table `inline`: known at compile time only.
    Name(Rc<str>),
    Nothing,
}

impl Word {
    /// Whether the word is the same kind of thing on every path to a block.
    pub fn kind(&self) -> StaticType {
        match self {
            Word::Constant(_) | Word::Integer(_) | Word::Nothing => StaticType::Integer,
            Word::Truth(_) => StaticType::Truth,
            Word::Name(name) => StaticType::Name(name.clone()),
        }
    }
}

/// The static type of a register at the start of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum StaticType {
    Integer,
    Truth,
    Name(Rc<str>),
}
