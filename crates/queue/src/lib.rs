//! Packets that netfilter hands to a process (NFQUEUE): a rule of nf_tables for each place that queues them, and verdicts about them.
//!
//! Reads where packets are wanted ([`NetfilterPlace`](moonhook_hook::NetfilterPlace)); gives [`Packet`]s, which wait in the kernel for an [`Answer`]. A rule is
//! its process's alone (`NFT_TABLE_F_OWNER`): it goes with the process, however that dies, and packets pass by where nobody takes them. Knows nothing of
//! Lua or eBPF.

mod connection;
mod error;
mod interface;
mod message;
mod packet;
mod queue;
mod rule;
mod serve;
mod socket;

pub use connection::{Counters, Tuple, counters, forget};
pub use error::QueueError;
pub use packet::{Answer, Packet};
pub use queue::{Answerer, Options, Queue};
pub use serve::serve;
