//! What each attempt at executing the handlers learns for the attempts after it.

use crate::error::LowerError;
use crate::interned::Objects;
use crate::note_fields::NoteFields;
use crate::shared::known::SharedTables;
use crate::sites::LoopKey;
use crate::stored::known::Stored;
use crate::targets::Targets;
use crate::variables::known::Variables;
use std::collections::HashMap;
use std::rc::Rc;

/// Attempts at a script, at most: each learns something, and no script has that much to teach.
pub const MOST_ATTEMPTS: usize = 10_000;

/// What executing the handlers has cost so far, in values made and instructions of bytecode executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    pub spent: usize,
    /// Values that the function had when it was last looked at.
    pub values: usize,
    /// Lines of chains that it is made of.
    pub lines: usize,
    /// How much may be spent; `None`: as much as it takes.
    pub limit: Option<usize>,
}

/// What is known of the script. Nothing is taken back but loops to unroll, each once at most, so that specialisation comes to an end; and what
/// belongs to one attempt (places of what was loaded, sums, slots), which the next one clears.
#[derive(Default)]
pub struct Knowledge {
    /// Variables that handlers assign.
    pub variables: Variables,
    /// Tables that are maps.
    pub shared: SharedTables,
    /// Objects that are told apart at packet time, by number.
    pub objects: Objects,
    /// Loops to unroll, as far as is known, and what has no form otherwise.
    pub unrolled: HashMap<LoopKey, Box<LowerError>>,
    /// Tables made at packet time that are hash tables in the per-CPU region.
    pub stored: Stored,
    /// Handlers look at the data of packets that are copied, and not at headers only: all is copied.
    pub copies_whole: bool,
    /// Handlers change the length of frames that are copied.
    pub changes_lengths: bool,
    /// Handlers read notes that have to be kept ([`crate::notes`]).
    pub reads_notes: bool,
    /// The fields of notes that are records.
    pub notes: NoteFields,
    /// Strings in lower or upper case are written at once ([`crate::cases`]).
    pub writes_cases: bool,
    /// Of general code: where packets may go by maps.
    pub targets: Rc<Targets>,
    /// Places seen so far in an attempt that may read behind what is copied at first.
    pub far_reads: usize,
    /// What the attempts have cost.
    pub work: Work,
    /// Attempts that were begun.
    pub attempts: usize,
}

impl Knowledge {
    /// Nothing; attempts may spend so much (`None`: as much as it takes).
    pub fn new(limit: Option<usize>) -> Knowledge {
        Knowledge { work: Work { limit, ..Work::default() }, ..Knowledge::default() }
    }

    /// Before an attempt.
    pub fn start_over(&mut self) {
        self.variables.start_over();
        self.shared.start_over();
        self.stored.start_over();
        self.far_reads = 0;
        (self.work.values, self.work.lines) = (0, 0);
        self.attempts += 1;
    }

    /// Before the code of another function.
    pub fn start_function(&mut self) {
        self.variables.start_over();
        self.shared.start_function();
        (self.work.values, self.work.lines) = (0, 0);
    }

    /// Says what is known after an attempt.
    pub fn log(&self, ended: bool) {
        tracing::debug!(
            target: "specialise",
            attempt = self.attempts,
            work = self.work.spent,
            variables = self.variables.count(),
            tables = self.shared.count(),
            unrolled_loops = self.unrolled.len(),
            stored_tables = self.stored.count(),
            ended,
        );
    }
}
