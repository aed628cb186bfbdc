//! General code as its stubs see it: what they become parts of, and what they need of it.

use crate::note_fields::NoteFields;
use crate::shared::known::SharedTables;
use crate::structures::Structures;
use crate::targets::Targets;
use moonhook_ir as ir;
use moonhook_ir::FunctionId;
use std::rc::Rc;

/// What stubs need of the program that they become parts of.
pub trait Host {
    /// The module for maps and events. It is empty while a stub is being made.
    fn module(&mut self) -> &mut ir::Module;
    /// What is known of shared tables, if there are any. It is away while a stub is being made, too.
    fn shared(&mut self) -> Option<&mut SharedTables> {
        None
    }
    /// Where packets may go by maps.
    fn targets(&self) -> Rc<Targets> {
        Rc::default()
    }
    /// The records that handlers put in front of packets.
    fn notes(&self) -> Rc<NoteFields> {
        Rc::default()
    }
    /// The structures of the kernel that values can be.
    fn structures(&self) -> Rc<Structures> {
        Rc::default()
    }
    /// A function that was placed before, by its name.
    fn placed(&self, name: &str) -> Option<FunctionId>;
    /// Makes a function a part of the program.
    fn place(&mut self, function: ir::Function) -> FunctionId;
    /// The payload word (address and length) of a constant text.
    fn text(&mut self, text: &[u8]) -> u64;
    /// The function that a routine of the runtime will be.
    fn routine(&mut self, name: &str) -> FunctionId;
    /// Whether the name stands in a function of the script.
    fn is_spelled(&self, name: &[u8]) -> bool;
    /// Tag and payload word of a library function of Moonhook's (`data.getuint8`).
    fn builtin(&mut self, name: &'static str) -> (i64, u64);
}

/// What takes the place of the program around a stub's code.
pub struct Stub<'a> {
    pub host: &'a mut dyn Host,
    /// The runtime's state: its address in the arena.
    pub state: ir::Value,
    /// Of functions: the address of the first argument, and how many there are.
    pub arguments: Option<[ir::Value; 2]>,
    /// Blocks that raise an error: its text, whether it gets a position, the block.
    pub errors: Vec<(Vec<u8>, bool, ir::Block)>,
}

impl Stub<'_> {
    /// [`Host::placed`].
    pub fn placed(&self, name: &str) -> Option<FunctionId> {
        self.host.placed(name)
    }

    /// [`Host::place`].
    pub fn place(&mut self, function: ir::Function) -> FunctionId {
        self.host.place(function)
    }
}
