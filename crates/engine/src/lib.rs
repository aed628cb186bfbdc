//! The engine: the stages from `load` to `install` in order, and the choice of the form that handlers are compiled to.
//!
//! Reads a [`moonhook_snapshot::Snapshot`], which any thread can have; adds nothing to what the stages make of it but the decision which
//! form it is, and why ([`Reason`]). [`compile`] stops before the kernel and is pure; [`install`] has the verifier judge, too. Both go
//! through the one function that falls back from expanded to general code (`fallback.rs`), and so does every command and
//! every test. A [`Kernel`] is what has been installed, with what it takes to understand its records, counters and tables. Knows no
//! command line, no Lua state, no running script.

mod cpus;
mod error;
mod fallback;
mod flows;
mod form;
mod interfaces;
mod kernel;
mod of_objects;
mod packages;
mod raw;
mod reason;
mod running;
mod settings;
mod sockets;
mod stages;
pub mod tables;
mod trial;

pub use error::EngineError;
pub use fallback::{Compiled, Maps, compile, install};
pub use flows::{FlowCompiler, set_flows};
pub use form::Form;
pub use interfaces::Redirects;
pub use kernel::{Again, Kernel, duplicate};
pub use moonhook_baseline::UNIT;
pub use moonhook_specialise::{Clock, Learned};
pub use packages::{Folders, OBJECTS};
pub use reason::{Choice, Reason};
pub use running::RunningKernel;
pub use settings::{BUDGET, MEMORY, PATIENCE, Settings, possible_cpus};
pub use stages::{Attempt, Entry, Timings, emit, entries, lower, object_name, rewrite, timed};
pub use trial::Trial;
