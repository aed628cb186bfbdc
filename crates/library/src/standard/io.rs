//! Files, for reading (Lua manual § 6.9).

use crate::{Found, Function, Library};

pub const IO: Library = Library {
    name: "io",
    found: Found::Standard,
    constants: &[],
    functions: &[
        Function::load("io.close"),
        Function::load("io.lines"),
        Function::load("io.open"),
        Function::load("io.type"),
    ],
    instead: "do it at load time, outside the handler",
};
