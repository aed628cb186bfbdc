//! `require "updates"`: functions of flows that come in datagrams.

use crate::{Found, Function, Library};

pub const UPDATES: Library = Library {
    name: "updates",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("updates.listen")],
    instead: "listen at load time, outside the handler",
};
