//! The lower stage: a [`Snapshot`] becomes IR.
//!
//! Reads the bytecode of the handlers that the script registered and the values they can reach, knows Lua's semantics, and
//! executes the bytecode symbolically ([`interpret`]): calls of known functions are expanded in place, constants are folded,
//! tables of load time become data. What is left is code over machine words, in the form the kernel's verifier accepts.
//! Does not know registers, files or the running kernel.

mod addresses;
mod arguments;
mod builtins;
mod cells;
mod clock;
mod code;
mod concatenation;
mod context;
mod copy;
mod copy_on_write;
mod crossings;
mod decimals;
mod dispatch;
mod error;
mod events;
use moonhook_snapshot::flow;
mod first_sums;
mod form;
mod formatting;
pub mod general;
mod hashing;
mod interpret;
mod invariants;
mod join;
mod loops;
mod made;
mod memory;
mod names;
use moonhook_snapshot::instruction as opcode;
mod ops;
mod patterns;
mod program;
mod protocols;
mod same;
mod same_word;
mod script_loops;
mod sent;
mod shared;
mod state;
mod stored;
mod strings;
mod subprograms;
mod tables;
mod texts;
mod turns;
mod unroll;
mod value;
mod variables;
mod writes;

pub use clock::{CLOCK_SECTION, Clock};
pub use error::{LowerError, LowerErrorKind};
pub use general::UNIT;

use moonhook_ir::Module;
use moonhook_snapshot::Snapshot;

/// What lowering depends on besides the script.
#[derive(Clone, Debug)]
pub struct Options {
    /// The verdict after a run-time error.
    pub on_error: u32,
    /// Steps that a packet may take; see docs/packet.md.
    pub budget: u32,
    /// CPUs for which there is packet memory.
    pub cpus: u32,
    /// Bytes of packet memory for each CPU, where tables and strings are made.
    pub memory: u32,
    /// A limit to the growth of code: values before optimisation.
    pub max_values: usize,
    /// A limit to the work of finding expanded code: values made and instructions of bytecode executed, in all walks; `None`: as
    /// much as it takes.
    pub max_work: Option<usize>,
    /// Make a program that also takes frames in several buffers (jumbo frames in native mode). It asks the kernel for each
    /// frame's length, and works on a copy of those frames.
    pub frags: bool,
    /// Count verdicts in the data section `verdicts`: a `u64` each.
    pub count_verdicts: bool,
    /// Time is what the data section `clock` says ([`Clock`]), and not what it is.
    pub given_time: bool,
    /// Give what few packets need functions of its own. Their frames come out of the program's 512 bytes of stack.
    pub subprograms: bool,
    pub form: Form,
    /// General code of the script's functions is interpreted, so that the program's size does not depend on them.
    pub compact: bool,
}

/// What handlers are compiled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Everything that is called is expanded in place, specialised to what load time knows: the fastest, for a part of the language.
    #[default]
    Expanded,
    /// Function by function, on registers in arena memory: the whole language, at any size.
    General,
}

/// What the walk for one form learned of the script, for another form of the same script.
#[derive(Debug, Default)]
pub struct Learned(Option<Box<shared::SharedTables>>);

impl Default for Options {
    fn default() -> Self {
        Options {
            on_error: 2,
            budget: 100_000,
            cpus: 64,
            memory: 256 << 10,
            max_values: 400_000,
            max_work: None,
            frags: false,
            count_verdicts: false,
            given_time: false,
            subprograms: true,
            form: Form::Expanded,
            compact: false,
        }
    }
}

/// Lowers all handlers of a snapshot to one program of the form that the options name.
///
/// The program's section is the hook's name, its own name is made from the script's. Fails with the first construct that
/// has no such form at packet time; whether general code has one for it, [`LowerErrorKind::has_general_form`] says. General code takes
/// from `learned` what an earlier attempt at expanded code put there; where there was none, it finds that out itself.
pub fn lower(snapshot: &Snapshot, options: &Options, learned: &mut Learned) -> Result<Module, LowerError> {
    match options.form {
        Form::Expanded => {
            let (outcome, shared) = program::lower(snapshot, options);
            learned.0 = Some(Box::new(shared));
            outcome
        }
        Form::General => {
            let known = learned.0.take().map(|known| *known);
            general::lower(snapshot, options, known.unwrap_or_else(|| program::learn(snapshot, options)))
        }
    }
}
