//! The routines that general code calls, written in *runtime Lua*: a small language of 64-bit integers and arena memory with
//! the syntax of Lua 5.5.
//!
//! `lua/*.lua` are the routines, which [`compile`] makes subprograms of; `prelude/*.lua` are library functions that call back
//! into Lua and are compiled like a script. [`layout`] has the constants of both sides. With the feature `simulate`, the module of
//! that name runs the routines in user space, for tests.

mod chunks;
mod compile;
pub mod hash;
pub mod image;
pub mod layout;
mod library;
mod prelude;
#[cfg(feature = "simulate")]
pub mod simulate;
pub mod sources;
mod templates;
pub mod texts;

pub use compile::{CompileError, Host, is_routine, routine_names};
pub use hash::{text_hash, value_hash};
pub use library::{Function, OF_FRAMES, find_function, routine_name};
pub use prelude::{Prelude, prelude};
pub use templates::compile;
