//! Packets, for every front end: reading and writing frames with the checks that the kernel's verifier wants, and protocols as
//! tables of fields.
//!
//! Whoever makes code that looks at packets implements [`Machine`]; [`Access`] gives it the frame's bytes, and [`protocols`]
//! headers by name. What both give are words and [`Value`]s: what a language makes of them is the front end's.

mod access;
mod assign;
mod checksum;
mod copy;
mod facts;
mod lengths;
mod machine;
mod names;
mod note;
pub mod protocols;
mod tags;
mod together;
mod value;

pub use access::{Access, COMMON_REACH, MAX_DISPLACEMENT, MAX_FRAME, MAX_LENGTH, READABLE};
pub use assign::{Refused, Takes};
pub use checksum::Checksum;
pub use copy::{FIRST as FIRST_COPIED, FrameCopy, Scattered};
pub use facts::{Bounds, ChangedSum, Facts, Key, Parsed, Pointer};
pub use lengths::{ChangeLength, End};
pub use machine::{Fault, Machine, PacketState};
pub use tags::{ChangeTags, Tag, Untagged};
pub use value::{Value, ValuePaths};
