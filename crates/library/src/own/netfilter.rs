//! `require "netfilter"`: handlers of netfilter.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const NETFILTER: Library = Library {
    name: "netfilter",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("netfilter.register"), Function::load("netfilter.detach")],
    instead: REGISTER,
};
