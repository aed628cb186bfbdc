//! eBPF objects that others have compiled, taken apart: functions with what they refer to, maps, data, types, lines.
//!
//! Reads relocatable ELF files as `clang -target bpf` and `moonhook build` write them, with BTF. What a program of ours cannot have of them is an
//! error that names object and symbol; nothing in a file makes the reader fail otherwise.

mod error;
mod exported;
mod functions;
mod instructions;
mod lines;
mod maps;
mod object;

pub use error::{LinkError, LinkErrorKind};
pub use exported::{EXPORTS, PROGRAM};
pub use instructions::Flaw;
pub use object::{Data, Function, Line, Linkage, Map, Object, Reference, Target};
