//! The specialiser: a [`Snapshot`] becomes IR.
//!
//! Reads the bytecode of the handlers that the script registered and the values they can reach, knows Lua's semantics, and
//! executes the bytecode symbolically ([`interpret`]): calls of known functions are expanded in place, constants are folded,
//! tables of load time become data. What is left is code over machine words, in the form the kernel's verifier accepts.
//! Does not know registers, files or the running kernel.

mod addresses;
mod arena;
mod arguments;
mod builtins;
mod called;
mod cases;
mod cells;
mod clock;
mod comparison;
mod concatenation;
mod connect;
mod context;
mod crossings;
mod decimals;
mod dispatch;
mod domain_names;
mod error;
mod events;
mod execution;
mod expanded;
pub mod exported;
use moonhook_snapshot::{Snapshot, first_sums, flow, names};
mod chains;
mod field_values;
mod field_writes;
mod fields;
mod findings;
mod floats;
mod flow_headers;
mod flows;
mod form;
mod formatting;
mod forwarding;
mod frame;
mod given;
mod hashing;
mod host;
mod identity;
mod indexing;
mod interfaces;
mod interned;
mod interpret;
mod invariants;
mod join;
mod knowledge;
mod linked;
mod literals;
mod looked;
mod loop_forms;
mod loops;
mod machine;
mod marks;
mod members;
mod memory;
mod message;
mod meta;
mod meta_fields;
mod virtual_tables;
use moonhook_snapshot::instruction as opcode;
pub mod nesting;
pub mod note_fields;
mod notes;
mod numbering;
mod numerals;
pub mod object_maps;
pub mod objects;
mod of_flow;
mod ops;
mod output;
mod paths;
mod patterns;
mod pool;
mod program;
mod programs;
mod region;
mod routines;
mod same;
mod script_loops;
mod sent;
pub mod shared;
mod sites;
mod state;
mod stored;
mod strings;
pub mod structures;
pub mod stubs;
mod subprograms;
mod surroundings;
mod tables;
mod target;
pub mod targets;
mod texts;
mod trace;
mod traced_kinds;
mod turns;
mod unroll;
mod value;
pub mod variables;
mod writes;

pub use builtins::{OUTSIDE, is_library_function};
pub use clock::Clock;
pub use error::{LowerError, LowerErrorKind, Result, Stop};
pub use flow_headers::Caller;
pub use interfaces::interfaces;
pub use marks::compare_marks;
pub use members::{is_of_constants, nearby};
pub use objects::text_fields;
pub use of_flow::{OfFlow, check_general, check_targets, own_cells};
pub use programs::set_apart;
pub use subprograms::of_program;

use moonhook_hook::OnError;
use moonhook_ir::Module;

/// What lowering depends on besides the script.
#[derive(Clone, Debug)]
pub struct Options {
    /// The verdict after a run-time error.
    pub on_error: OnError,
    /// Steps that a packet may take; see docs/packet.md.
    pub budget: u32,
    /// CPUs for which there is packet memory.
    pub cpus: u32,
    /// Bytes of packet memory for each CPU, where tables and strings are made.
    pub memory: u32,
    /// A limit to the growth of code: values before optimisation.
    pub max_values: usize,
    /// A limit to the work of finding expanded code: values made and instructions of bytecode executed, in all attempts; `None`: as
    /// much as it takes.
    pub max_work: Option<usize>,
    /// Make a program that also takes frames in several buffers (jumbo frames in native mode). It asks the kernel for each
    /// frame's length, and works on a copy of those frames.
    pub frags: bool,
    /// There is memory for a copy of a frame: with `frags`, or where a hook gives no addresses of packets.
    pub copies: bool,
    /// Handlers may send copies of packets ([`Snapshot::clones`](moonhook_snapshot::Snapshot::clones)).
    pub clones: bool,
    /// Count verdicts in the data section `verdicts`: a `u64` each, for each CPU apart.
    pub count_verdicts: bool,
    /// Time is what the data section `clock` says ([`Clock`]), and not what it is.
    pub given_time: bool,
    /// What `math.random` begins with on each CPU, as `math.randomseed` takes it; `None`: random numbers of the kernel.
    pub seed: Option<i64>,
    /// Every interface that handlers name exists, and none is looked up: packets go nowhere.
    pub any_interface: bool,
    /// The kernel describes its types, so that programs can read some of its structures (`/sys/kernel/btf/vmlinux`).
    pub kernel_types: bool,
    /// Give what few packets need functions of its own. Their frames come out of the program's 512 bytes of stack.
    pub subprograms: bool,
    /// What is made is the function of a flow.
    pub of_flow: Option<std::sync::Arc<OfFlow>>,
}

impl Options {
    /// The number of the first event in records.
    fn first_event(&self) -> i64 {
        self.of_flow.as_ref().map_or(0, |script| script.first_event.into())
    }
}

/// What the attempts at one form learned of the script, for another form of the same script.
#[derive(Debug, Default)]
pub struct Learned(Option<Box<shared::SharedTables>>);

impl Default for Options {
    fn default() -> Self {
        Options {
            on_error: OnError::PASS,
            budget: 100_000,
            cpus: 64,
            memory: 256 << 10,
            max_values: 400_000,
            max_work: None,
            frags: false,
            copies: false,
            count_verdicts: false,
            given_time: false,
            seed: None,
            clones: false,
            any_interface: false,
            kernel_types: true,
            subprograms: true,
            of_flow: None,
        }
    }
}

impl Learned {
    /// What is known of shared tables; where there was no attempt at expanded code, this finds it out.
    pub fn tables(&mut self, snapshot: &Snapshot, options: &Options) -> shared::SharedTables {
        self.0.get_or_insert_with(|| Box::new(program::learn(snapshot, options))).anew()
    }
}

/// Lowers all handlers of a snapshot to a program of expanded code for each hook. What it learns of them stays in `learned`.
///
/// A program's section is that of its hook, its own name is made from the script's.
///
/// # Errors
/// The first construct that has no such form at packet time; whether general code has one for it,
/// [`LowerErrorKind::has_general_form`] says.
pub fn lower(
    snapshot: &Snapshot,
    options: &Options,
    learned: &mut Learned,
) -> std::result::Result<Module, LowerError> {
    let (outcome, shared) = program::lower(snapshot, options);
    learned.0 = Some(Box::new(shared));
    outcome
}
