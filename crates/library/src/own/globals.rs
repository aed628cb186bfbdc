//! Functions among the globals: events, tables that handlers and control code share, and sending packets elsewhere.

use crate::Gives::Integer;
use crate::{COMPUTED, Found, Function, Library};

pub const GLOBALS: Library = Library {
    name: "",
    found: Found::Global,
    constants: &[],
    functions: &[
        Function::load("attach"),
        Function::both("event", &[]),
        Function::load("map"),
        Function::load("on"),
        Function::both("redirect", &[Integer]),
    ],
    instead: COMPUTED,
};
