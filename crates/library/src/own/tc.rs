//! `require "tc"`: handlers of traffic control.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const TC: Library = Library {
    name: "tc",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("tc.ingress"), Function::load("tc.egress"), Function::load("tc.detach")],
    instead: REGISTER,
};
