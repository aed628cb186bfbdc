//! Coroutines (Lua manual § 6.3).

use crate::Gives::{Boolean, Mixed, Nothing, Text};
use crate::{Found, Function, Library};

pub const COROUTINE: Library = Library {
    name: "coroutine",
    found: Found::Standard,
    constants: &[],
    functions: &[
        Function::general("coroutine.close", &[Boolean, Mixed]),
        Function::general("coroutine.create", &[Mixed, Nothing]),
        Function::general("coroutine.isyieldable", &[Boolean, Nothing]),
        Function::general("coroutine.resume", &[Boolean, Mixed]),
        Function::general("coroutine.running", &[Mixed, Boolean, Nothing]),
        Function::general("coroutine.status", &[Text, Nothing]),
        Function::general("coroutine.wrap", &[Mixed, Nothing]),
        Function::general("coroutine.yield", &[Mixed]),
    ],
    instead: "write the code without coroutines",
};
