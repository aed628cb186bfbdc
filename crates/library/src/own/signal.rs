//! `signal`: what the process does when it gets one.

use crate::{COMPUTED, Found, Function, Library};

pub const SIGNAL: Library = Library {
    name: "signal",
    found: Found::Global,
    constants: &[],
    functions: &[Function::load("signal.on")],
    instead: COMPUTED,
};
