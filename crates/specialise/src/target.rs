//! The function that code is made for: the program it belongs to, and the blocks in which its paths end.

use moonhook_hook::{Buffers, Hook};
use moonhook_ir as ir;
use moonhook_ir::words::Word;
use moonhook_packet::FrameCopy;

/// What is being made.
pub struct Target {
    /// The hook whose program it is, or is called by.
    pub hook: &'static Hook,
    /// The program's number among those of the script.
    pub program: usize,
    /// Where the frame was copied to, in code for frames that lie in several buffers.
    pub copy: Option<FrameCopy>,
    /// What the packet has come with, where that is read ([`crate::notes`]): which note it is, the number or the bits of the record's fields, these.
    pub note: Option<Vec<Word>>,
    /// What the program has taken, at hooks whose programs can be interrupted ([`crate::nesting`]).
    pub taken: Option<Taken>,
    /// Takes an event id: sends the event and ends with the verdict for errors.
    pub fail_block: ir::Block,
    /// Takes the verdict.
    pub exit_block: ir::Block,
}

/// Memory of a CPU that one program at a time uses.
#[derive(Clone, Copy)]
pub struct Taken {
    pub cpu: Word,
    pub level: Word,
    /// The address of the word that says which levels are taken.
    pub word: ir::Value,
}

impl Target {
    /// A function that has no code yet, of the program with that number, for that hook. It gets the blocks in which its paths end.
    pub fn new(function: &mut ir::Function, (hook, program): (&'static Hook, usize)) -> Target {
        let fail_block = function.new_block();
        function.block_mut(fail_block).cold = true;
        function.add_param(fail_block);
        let exit_block = function.new_block();
        function.add_param(exit_block);
        Target { hook, program, copy: None, note: None, taken: None, fail_block, exit_block }
    }

    /// How the program's frames are reached that lie in several buffers, which takes code of its own.
    pub fn takes_scattered(&self, options: &crate::Options) -> Option<Buffers> {
        self.hook.buffers().filter(|_| options.frags)
    }
}
