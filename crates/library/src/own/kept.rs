//! A value that the call of a handler has: what the library's own Lua notes of a packet for functions that do not get it as an argument. Scripts do not reach
//! these functions.

use crate::Function;
use crate::Gives::Given;

/// Keeps its argument until the handler returns; of several calls the last one counts.
pub const KEEP: Function = Function::both("prim.keep_value", &[Given]);

/// Gives what has been kept, or nil.
pub const KEPT: Function = Function::both("prim.kept_value", &[Given]);
