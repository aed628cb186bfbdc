//! Functions among the globals: events, tables that handlers and control code share, sending packets elsewhere, and where the kernel
//! would send one.

use crate::Gives::{Integer, Mixed};
use crate::{COMPUTED, Found, Function, Library};

/// What [`data::ROUTE`](super::data::ROUTE) does, of the packet that it is given.
pub const ROUTE: &str = "route";

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
        Function::stub(ROUTE, &[Mixed, Mixed, Mixed, Mixed]),
    ],
    instead: COMPUTED,
};
