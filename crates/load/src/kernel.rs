//! What scripts may know of the kernel that they are for.

use moonhook_btf::{Event, Types};
use moonhook_hook::Hook;
use moonhook_snapshot::Snapshot;
use std::fmt;
use std::sync::Arc;

/// Who knows what the kernel has. Equal answers give equal snapshots.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// The types of its structures.
    ///
    /// # Errors
    /// `Unknown`.
    fn types(&self) -> Result<Arc<Types>, Untold>;

    /// What the place of that name, a tracepoint or a function, hands to programs of the hook.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be found out.
    fn event(&self, hook: &'static Hook, name: &str) -> Result<Event, Untold>;

    /// By how many seconds its clock of atomic time (`CLOCK_TAI`) is ahead of UTC: 0 where nobody has told it (adjtimex(2)).
    fn seconds_ahead(&self) -> i64 {
        0
    }
}

/// Who tries whether the kernel takes a program.
pub trait Trial: fmt::Debug + Send + Sync {
    /// Why no program can be made of the snapshot's handlers which it takes, in one line; `None` where there is one, or it cannot be said.
    fn refusal(&self, snapshot: &Snapshot) -> Option<String>;
}

/// Why something of the kernel is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untold {
    /// It has nothing of that name; these are like it.
    None { near: Vec<String> },
    /// It does not say, or not to this process.
    Unknown { problem: String, help: &'static str },
    /// It can have no programs of that kind.
    Refused { problem: String },
}

/// A load time that nobody has told of a kernel.
#[derive(Debug)]
pub(crate) struct NoKernel;

impl Kernel for NoKernel {
    fn types(&self) -> Result<Arc<Types>, Untold> {
        let problem = "no kernel is known at this load time".to_string();
        Err(Untold::Unknown { problem, help: "run the script with `moonhook`" })
    }

    fn event(&self, _: &'static Hook, _: &str) -> Result<Event, Untold> {
        self.types().map(|_| Event::default())
    }
}
