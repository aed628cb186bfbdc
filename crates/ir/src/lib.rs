//! The compiler's intermediate representation.
//!
//! A [`Module`] is what becomes one eBPF object: functions in SSA form with block parameters, the maps they use, and a
//! table of the events they can send to user space. Every value is one 64-bit machine word: an integer or a pointer that
//! the kernel's verifier tracks (context, packet, map value, stack). The IR knows nothing of Lua; Lua values are spread
//! over words by the specialiser. It knows eBPF only so far as its operations are ones that eBPF has.
//!
//! Invariants (checked by [`verify::verify`]): block 0 is the entry and has no parameters (a function's parameters are
//! [`Function::params`]); every block ends in a terminator; every use is dominated by its definition; a jump passes as
//! many arguments as its target has parameters; every cycle in the control-flow graph goes through a
//! [`Terminator::MayGoto`], without which the kernel's verifier would walk the loop iteration by iteration.

mod builder;
mod control_flow;
pub mod eval;
mod function;
mod given;
pub mod graph;
pub mod helper;
pub mod kept;
pub mod kernel_field;
pub mod maps;
mod module;
mod needed;
mod op;
pub mod parallel;
mod parse;
mod pointers;
mod print;
mod prototype;
mod sums;
pub mod targets;
mod terminator;
pub mod verify;
pub mod words;

pub use builder::Builder;
pub use control_flow::ControlFlow;
pub use function::*;
pub use given::{Given, GivenReference};
pub use kernel_field::{FieldContent, FieldFact, KernelField};
pub use module::*;
pub use needed::{Sources, needed_values};
pub use op::*;
pub use parse::{ParseError, parse, parse_function};
pub use pointers::Pointers;
pub use prototype::{CType, Prototype};
pub use sums::Sums;
pub use terminator::*;
