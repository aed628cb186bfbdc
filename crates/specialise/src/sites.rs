//! Places in the script as execution gets there.

use moonhook_snapshot::PrototypeId;
use std::ops::Range;

/// A function being executed symbolically, as error messages need it.
#[derive(Clone, Debug)]
pub struct ActiveCall {
    pub prototype: PrototypeId,
    pub pc: usize,
    /// How the traceback calls the function.
    pub name: String,
}

/// A turn of an unrolled loop.
#[derive(Clone, Debug)]
pub struct Turn {
    pub number: usize,
    /// The instructions of the loop.
    pub code: Range<usize>,
    /// The number of calls that are active in it.
    pub calls: usize,
}

/// A loop: the program counters of the calls around it and of its header, and the header's block.
pub type LoopKey = (Vec<usize>, usize);

/// An instruction of the script: a function and a program counter in it.
pub type Site = (PrototypeId, usize);
