//! `require "trace"`: handlers of what happens in the kernel.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const TRACE: Library = Library {
    name: "trace",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("trace.on"), Function::load("trace.detach")],
    instead: REGISTER,
};
