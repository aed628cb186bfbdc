//! Lunatik's modules for processes (luainkernel/lunatik 4.4), in real Lua: states on threads of their own, objects that they share, sockets, time.
//!
//! A [`Host`] is one "kernel" of Lunatik: the folder its scripts are in, the table that all states have in common (`lunatik._ENV`), and the states
//! themselves, which [`Host::stop`] ends. [`Host::open`] puts the modules into a state that somebody else has made. Knows nothing of packets' programs.

mod arguments;
mod class;
mod device;
mod endings;
mod extension;
mod finalizers;
mod host;
mod layouts;
mod modules;
mod pool;
mod probes;
mod runtime;
mod share;
mod state;
mod system;
mod table;
mod task;
mod wait;

pub use arguments::{Arguments, Raise, add, protected};
pub use device::abandon;
pub use endings::Ending;
pub use extension::{Callback, Extension, Open, Surroundings, own};
pub use host::{Constants, Host, Output};
pub use probes::{Counted, Counting, Counts, Uncounted};
pub use runtime::Context;
pub use state::text;

use std::path::PathBuf;
use std::sync::Arc;

/// A "kernel" whose scripts, and modules of theirs, are in `root`. `output` gets what scripts print, `warnings` errors of threads. The states of runtimes have
/// `extensions` besides, and so many bytes of memory each (0: any number), and four times as many together; probes get what `counting` counts.
pub fn host(
    root: PathBuf,
    constants: Constants,
    output: Output,
    warnings: Output,
    extensions: Vec<Extension>,
    counting: Arc<dyn Counting>,
    memory: usize,
) -> Arc<Host> {
    let modules =
        host::Modules { rust: &modules::MODULES, lua: &modules::WRITTEN, extensions: extensions.into() };
    Host::new(root, modules, constants, (output, warnings), counting, memory)
}
