//! Coroutines (Lua manual § 6.3).

use crate::{Found, Function, Library};

pub const COROUTINE: Library = Library {
    name: "coroutine",
    found: Found::Standard,
    constants: &[],
    functions: &[
        Function::load("coroutine.close"),
        Function::load("coroutine.create"),
        Function::load("coroutine.isyieldable"),
        Function::load("coroutine.resume"),
        Function::load("coroutine.running"),
        Function::load("coroutine.status"),
        Function::load("coroutine.wrap"),
        Function::load("coroutine.yield"),
    ],
    instead: "write the code without coroutines",
};
