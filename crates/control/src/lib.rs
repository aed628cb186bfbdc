//! Control: what the Lua state of load time does while the script's handlers run in the kernel.
//!
//! Reads a loaded script, the module that was made of it and the program in the kernel. Turns the script's tables that became
//! maps into proxies of them, runs timers and listeners when [`Control::turn`] is called, carries out Lua text from outside
//! ([`Control::exec`]) and gives access to the tables by name ([`Control::table`]). Variables that handlers assign are common to
//! both sides, and entries whose time is over are removed. Knows nothing of packets and eBPF instructions. See
//! `docs/control.md`.
//!
//! Guarantees: one function at a time, each within a limit of time; an error of one ends that function and nothing else. A state belongs
//! to one thread; where that must not be waited for, the others have the tables ([`Connection::tables`]), and can watch the thread
//! ([`Options::begun`], [`processor_time`]).

mod bound;
mod connection;
mod convert;
mod error;
mod exec;
mod flows;
mod locals;
mod objects;
mod priority;
mod proxy;
mod record;
mod sending;
mod signals;
mod sweep;
mod table;
mod timers;
mod traversal;
mod turn;
mod values;
mod variable_objects;
mod variables;

pub use connection::{Connection, Layout};
pub use error::ControlError;
pub use exec::{Answer, Shown};
pub use flows::{
    Content, FlowEntry, FlowMaker, FlowTables, FunctionId, KeptFlows, MadeFunction, Owner as FlowsOfState,
};
pub use moonhook_load::{CallError, Changed};
pub use priority::{lower_priority, processor_time};
pub use sweep::Sweeper;
pub use table::{Entries, SharedTable, Traversal, table_named};
pub use turn::{Control, Options, Report};
