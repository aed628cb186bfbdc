//! Computing with words while a function is made: constants are folded, ranges tracked, and what is surely the same is known.
//!
//! Whoever makes code (a front end) has a [`Code`] and a place where code is appended; [`Words`] gives it the operations, and
//! [`Branches`] the control flow, with what is known on each path. Where a
//! function is made without knowledge of its values, [`crate::Builder`] is enough.

mod branches;
mod copy_on_write;
mod numbering;
mod operations;
mod range;

pub use branches::{Branches, Iteration, Path, PathState, Turn, WordPaths};
pub use copy_on_write::{CopyOnWrite, find_near};
pub use numbering::{Same, forget_values};
pub use operations::Words;
pub use range::{Cond, Range};

use crate::{Block, Function, Loc, MapId, Value};
use std::collections::BTreeMap;

/// A machine word: known now, or computed by the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    Imm(i64),
    Value(Value),
}

impl Word {
    pub fn constant(self) -> Option<i64> {
        match self {
            Word::Imm(imm) => Some(imm),
            Word::Value(_) => None,
        }
    }
}

impl From<Value> for Word {
    fn from(value: Value) -> Word {
        Word::Value(value)
    }
}

impl From<i64> for Word {
    fn from(imm: i64) -> Word {
        Word::Imm(imm)
    }
}

/// An address and a displacement to go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: Value,
    pub disp: i16,
}

impl Address {
    pub fn plus(self, bytes: i16) -> Address {
        Address { base: self.base, disp: self.disp + bytes }
    }
}

/// A function under construction, and what is known of its values.
pub struct Code {
    pub function: Function,
    /// The line of the source that code is made for.
    pub loc: Loc,
    ranges: Vec<Range>,
    /// Values that are another value plus a constant.
    pub sums: BTreeMap<Value, (Value, i64)>,
    pub same: Same,
    /// Values with lower numbers come from outside of the innermost loop being made.
    pub loop_start: u32,
    /// A writable zero: see [`Words::launder`].
    pub opaque_map: MapId,
}

impl Code {
    pub fn new(function: Function, opaque_map: MapId) -> Code {
        Code {
            function,
            loc: Loc::default(),
            ranges: Vec::new(),
            sums: BTreeMap::new(),
            same: Same::default(),
            loop_start: 0,
            opaque_map,
        }
    }

    pub fn set_range(&mut self, value: Value, range: Range) {
        let index = value.index();
        if self.ranges.len() <= index {
            self.ranges.resize(index + 1, Range::FULL);
        }
        self.ranges[index] = Range { since: range.since.min(value.0), ..range };
    }

    pub fn range(&self, word: Word) -> Range {
        match word {
            Word::Imm(imm) => Range::exactly(imm),
            Word::Value(value) => self.ranges.get(value.index()).copied().unwrap_or(Range::FULL),
        }
    }

    /// Drops what is noted of values that a rollback took away.
    pub fn forget_values(&mut self) {
        let count = self.function.value_count;
        self.ranges.truncate(count as usize);
        forget_values(&mut self.sums, count, drop);
        self.same.forget(count);
    }
}

/// Who makes code.
pub trait Coder {
    fn code(&self) -> &Code;

    fn code_mut(&mut self) -> &mut Code;

    /// Where code is being appended; `None` behind code that does not go on.
    fn current_block(&mut self) -> &mut Option<Block>;
}
