//! Tables of flows: which packets belong to a flow, and the memory in which handlers find its function.
//!
//! A *key* is what packets of a flow have in common ([`KeyKind`]), as words of 64 bits. A [`FlowTable`] is memory that one process writes
//! ([`FlowTable::insert`], [`FlowTable::remove`]) while programs on all CPUs read it, without locks on either side: [`Layout`] says where
//! what is. Which function a flow has is a number (from 1), whatever that means to who runs the functions. Knows nothing of Lua,
//! packets or eBPF.

mod field;
mod key;
mod layout;
mod table;

pub use field::{Field, FieldKind, KeyValue, field_names};
pub use key::{KeyError, KeyKind, MOST_VALUES};
pub use layout::{
    DELETED, DIRECT, ENTRY_MASK, HEADER, HashKeys, Layout, MIX, MOST_KEYS, PROBES, most_functions,
};
pub use table::{Flow, FlowError, FlowTable, GRACE};
