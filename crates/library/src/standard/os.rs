//! The clock (Lua manual § 6.10).

use crate::{Found, Function, Library};

pub const OS: Library = Library {
    name: "os",
    found: Found::Standard,
    constants: &[],
    functions: &[Function::load("os.clock"), Function::load("os.date"), Function::load("os.time")],
    instead: "call it at load time, outside the handler",
};
