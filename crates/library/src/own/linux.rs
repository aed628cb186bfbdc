//! `require "linux"`: time and random numbers of the kernel, with Lunatik's names.

use crate::Gives::Integer;
use crate::{COMPUTED, Found, Function, Library};

pub const LINUX: Library = Library {
    name: "linux",
    found: Found::Module,
    constants: &[],
    functions: &[
        Function::stub("linux.time", &[Integer]),
        Function::stub("linux.monotonic", &[Integer]),
        Function::stub("linux.difftime", &[Integer]),
        Function::stub("linux.random", &[Integer]),
    ],
    instead: COMPUTED,
};
