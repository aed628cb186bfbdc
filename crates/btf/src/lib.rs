//! The kernel's types, as its BTF describes them (Documentation/bpf/btf.rst): which fields a structure has, where they are and what
//! is in them, and what tracepoints hand to programs. Reads bytes only; where they come from is the caller's.

mod content;
mod event;
mod field;
mod function;
mod near;
mod raw;
mod reader;
mod record;

pub use content::Content;
pub use event::{Argument, Event, Place};
pub use field::{Bits, Field};
pub use function::{Convention, functions};
pub use near::nearest;
pub use raw::{raw_tracepoint, raw_tracepoints};
pub use reader::{BtfError, Kind, Member, TypeId, Types};
pub use record::Record;
