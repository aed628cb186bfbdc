//! The compiler of runtime Lua: from bytecode to IR.
//!
//! A global function of the source files becomes a global subprogram of the same name. Its locals are SSA values, its memory is the
//! arena; calls of `inline.*` and of local functions are expanded. See the crate's documentation for the language.

mod arithmetic;
mod body;
mod builder;
mod calls;
mod error;
mod instructions;
mod intrinsics;
mod loops;
mod registers;
mod sources;

pub use error::CompileError;
pub use sources::names as routine_names;
use sources::routine;

use moonhook_ir as ir;
use moonhook_ir::FunctionId;

type Result<T> = std::result::Result<T, CompileError>;

/// What the compiler asks of the program that the routine becomes a part of.
pub trait Host {
    /// The payload word (address and length) of a constant text.
    fn text(&mut self, text: &[u8]) -> u64;
    /// The function that another routine will be.
    fn routine(&mut self, name: &str) -> FunctionId;
}

/// Whether there is a routine of that name.
pub fn is_routine(name: &str) -> bool {
    routine(name).is_some()
}

/// Compiles a routine to a subprogram.
///
/// # Errors
/// For a name that no source file defines, and for sources that are not runtime Lua.
pub fn compile(name: &str, host: &mut dyn Host) -> Result<ir::Function> {
    let routine = routine(name).ok_or_else(|| CompileError::unknown(name))?;
    body::compile(name, routine, host)
}
