//! `timer`: functions of control code that are called later.

use crate::{COMPUTED, Found, Function, Library};

pub const TIMER: Library = Library {
    name: "timer",
    found: Found::Global,
    constants: &[],
    functions: &[
        Function::load("timer.every"),
        Function::load("timer.after"),
        Function::load("timer.cancel"),
    ],
    instead: COMPUTED,
};
