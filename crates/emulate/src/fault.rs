//! What ends a call before the function returns, and what maps refuse.

use std::fmt;

/// What is wrong, and where in the source it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    pub kind: FaultKind,
    /// Absent where no instruction was at fault: there is no such function, or it cannot be called like that.
    pub place: Option<Box<Place>>,
}

/// The instruction that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub object: String,
    pub function: String,
    /// In slots of 8 bytes from the function's start.
    pub slot: usize,
    /// File and line, where the object has lines.
    pub line: Option<(String, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    #[error("it takes more than {0} instructions")]
    Budget(u64),
    #[error("more than {0} functions are in one another")]
    Depth(usize),
    #[error("it {} {size} byte{} at offset {offset} of {memory}, outside of what it has there", verb(*.is_write), plural(*.size))]
    Access { is_write: bool, size: usize, offset: i64, memory: &'static str },
    #[error("it writes to a constant")]
    Constant,
    #[error("it calls the helper {0}, which is not there in user space")]
    Helper(u32),
    #[error("it gives the helper '{helper}' {problem}")]
    Argument { helper: &'static str, problem: &'static str },
    #[error("it has an instruction that is none, of code {code:#04x}")]
    Instruction { code: u8 },
    #[error("it goes on outside of the function")]
    Outside,
    /// With the second argument.
    #[error("it calls '{name}', which is not in the object")]
    Missing { name: String, second: u64 },
    #[error("it uses the map '{name}', {problem}")]
    Map { name: String, problem: String },
    #[error("there is no function of that number")]
    NoFunction,
    #[error("a function has at most five arguments, not {0}")]
    Arguments(usize),
}

fn verb(is_write: bool) -> &'static str {
    if is_write { "writes" } else { "reads" }
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Fault {
        Fault { kind, place: None }
    }
}

impl Fault {
    /// Says where, unless that is known already: of functions that call one another, the innermost is at fault.
    pub(crate) fn at(self, place: impl FnOnce() -> Place) -> Fault {
        Fault { place: self.place.or_else(|| Some(Box::new(place()))), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.function)?;
        match &self.line {
            Some((file, number)) => write!(f, " ({file}:{number})"),
            None => write!(f, " of {}, instruction {}", self.object, self.slot),
        }
    }
}

/// What a map says to a wrong key, or to one too many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    #[error("there is no such key")]
    Missing,
    #[error("there is such a key already")]
    Exists,
    #[error("the map is full")]
    Full,
    #[error("the map has no room for one more prefix")]
    NoRoom,
    #[error("the memory for maps is used up")]
    Memory,
    #[error("no map of that kind can do this, or not with that key")]
    Invalid,
    #[error("a key or a value has {found} bytes, not {expected}")]
    Length { found: usize, expected: usize },
    #[error("{0}")]
    Unsupported(String),
}

impl MapError {
    /// The kernel's number for it (include/uapi/asm-generic/errno-base.h).
    pub fn errno(&self) -> i64 {
        match self {
            MapError::Missing => 2,
            MapError::Full => 7,
            MapError::Memory => 12,
            MapError::Exists => 17,
            MapError::Invalid | MapError::Length { .. } | MapError::Unsupported(_) => 22,
            MapError::NoRoom => 28,
        }
    }
}
