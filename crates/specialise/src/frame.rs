//! Calls that are being executed, as instructions see them.

use crate::flow::Flow;
use crate::paths::Arm;
use crate::sites::LoopKey;
use crate::state::State;
use crate::value::{Abs, Closure};
use moonhook_snapshot::{Prototype, Snapshot, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A call of a Lua function that is being executed.
pub struct Frame<'a> {
    pub prototype: &'a Prototype,
    pub flow: Rc<Flow>,
    pub closure: Rc<Closure>,
    pub varargs: Vec<Abs>,
    /// The values of an open result list (`…` or a call in last place) and the register of the first of them, waiting
    /// for the instruction that takes them.
    pub open: Option<(usize, Vec<Abs>)>,
    /// States that enter a block, by block number.
    pub pending: BTreeMap<usize, Vec<State>>,
    pub returns: Vec<Arm>,
    /// The path of calls to this frame: the program counters of the active calls.
    pub path: Vec<usize>,
}

impl<'a> Frame<'a> {
    /// A constant of the prototype.
    pub fn constant(&self, snapshot: &Snapshot, index: usize) -> Abs {
        Abs::of_load_time(snapshot, self.prototype.constants.get(index).unwrap_or(&Value::Nil))
    }

    /// The loop at `header`, by the calls that lead to it.
    pub fn loop_key(&self, header: usize) -> LoopKey {
        let mut key = self.path.clone();
        key.push(self.flow.blocks[header].start);
        (key, header)
    }
}

/// What an instruction does to control flow.
pub enum Next {
    /// The next instruction follows.
    Continue,
    /// The instruction at that program counter, of the same block, follows.
    At(usize),
    /// The block ends here: all paths that lead on have been entered.
    Done,
}
