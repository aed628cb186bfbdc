//! Functions of flows in datagrams (docs/updates.md).
//!
//! An [`Update`] gives one flow of a running script a function, or takes it out. It travels in one [`Datagram`] or several
//! ([`Update::datagrams`]), each signed by who sends it ([`SecretKey`]); a [`Receiver`] knows the keys of those whose updates are
//! taken ([`PublicKey`]), and what it has taken already. Knows nothing of Lua, packets or eBPF; sends and receives nothing itself.

mod datagram;
mod keys;
mod receiver;
mod update;

pub use datagram::{Datagram, FormatError, HEADER, MAGIC, MOST_BYTES, MOST_PARTS, SIGNATURE, VERSION};
pub use keys::{KeyError, PublicKey, SENDER, SecretKey};
pub use receiver::{Limits, Receiver, Refusal, Sequences, sequence};
pub use update::{Operation, Update, UpdateError};
