//! NFLua's states: each a Lua state that chunks are executed in, and whose functions rules of iptables ask about packets.
//!
//! [`run`] is the process that has the states of a network namespace, and listens at a socket for who creates and uses them: the plugins of iptables,
//! NFLua's library for programs, and [`Client`]. A function that rules ask whether packets match (`-m lua`) becomes a socket filter in the kernel, which is pinned; one that
//! decides about packets (`-j LUA`) is called in the state itself, for packets of a queue. Whatever is executed in a state, rules ask what the state is then.

mod client;
mod connections;
mod datagram;
mod error;
mod functions;
mod generation;
mod headers;
mod held;
pub mod install;
mod lines;
mod log;
mod matches;
mod native;
mod ports;
pub mod protocol;
mod question;
mod raw;
mod segment;
mod server;
mod socket;
mod state;
mod targets;

pub use client::{Client, Listed};
pub use error::NfluaError;
pub use generation::Generation;
pub use log::Log;
pub use question::Question;
pub use server::{Options, run};
pub use socket::path as socket_path;
