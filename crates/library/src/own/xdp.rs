//! `require "xdp"`: handlers of XDP.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const XDP: Library = Library {
    name: "xdp",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("xdp.attach"), Function::load("xdp.detach")],
    instead: REGISTER,
};
