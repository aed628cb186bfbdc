//! Functions among the globals: events, and tables that handlers and control code share.

use crate::{COMPUTED, Found, Function, Library};

pub const GLOBALS: Library = Library {
    name: "",
    found: Found::Global,
    constants: &[],
    functions: &[Function::both("event", &[]), Function::load("map"), Function::load("on")],
    instead: COMPUTED,
};
