//! `require "flow"`: a function for each flow.

use crate::Gives::{Boolean, Integer};
use crate::{Found, Function, Library};

pub const FLOW: Library = Library {
    name: "flow",
    found: Found::Module,
    constants: &[],
    functions: &[
        Function::load("flow.new").instead("make flow tables at load time, outside the handler"),
        Function::load("flow.set"),
        Function::load("flow.get"),
        Function::load("flow.delete"),
        Function::load("flow.pairs"),
    ],
    instead: "change flows in control code: a timer, or the function of an event that the handler sends",
};

/// What handlers of flow tables call: the table's number, the packet, what else handlers are given, and the values of the key. Whether the
/// flow has a function; then that was called, and this is its verdict.
pub const CALL: Function = Function::stub("flow call", &[Boolean, Integer]);

/// The error of a handler whose flow's function has failed: the function has told its own already, so that this one is counted only.
pub const FUNCTION_FAILED: &str = "the function of a flow has failed";
