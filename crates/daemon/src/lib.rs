//! Reaching running scripts from outside: each has a name and listens on a unix socket for lines of JSON.
//!
//! A process that runs a script claims a [`Name`] in a [`RuntimeFolder`] and starts a [`Server`] there; a command connects
//! with a [`Client`]. What requests mean is the business of whoever takes the [`Delivery`]: nothing here knows Lua, BPF or the
//! kernel's hooks. The protocol is in `docs/operate.md`.
//!
//! Guarantees: a name belongs to one process at a time, and is free when the process has died, however it died. Requests
//! of one connection are answered in order. What a client sends, or fails to send or to read, holds up nobody but itself: each
//! connection has a thread, their number is bounded, and the longest idle one gives way to a new one. Only root and the
//! server's own user are answered.

mod answers;
mod client;
mod connection;
mod datum;
mod error;
mod folder;
mod name;
mod protocol;
mod publisher;
mod request_line;
mod server;

pub use answers::{
    Dumped, Executed, FlowChanged, FlowInfo, FlowPage, FlowTableInfo, FlowsKept, Form, Kept, Listed,
    Neighbours, QueuedHandlers, Reloaded, Remark, Replaced, Status, TableInfo, TableKept, Timing,
};
pub use client::Client;
pub use datum::{NoDatum, from_json, json_text, shown, to_json, word};
pub use error::DaemonError;
pub use folder::{Claim, RuntimeFolder};
pub use name::Name;
pub use protocol::{
    Answer, Asker, ClientId, Delivery, Failure, FlowOperation, MAX_REQUEST, Pending, Reply, Request,
    TableOperation, VERSION,
};
pub use publisher::{Publisher, Subscription};
pub use server::Server;
