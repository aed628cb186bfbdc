//! `require "match"`: functions that rules of iptables ask.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const MATCH: Library = Library {
    name: "match",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("match.attach"), Function::load("match.detach")],
    instead: REGISTER,
};
