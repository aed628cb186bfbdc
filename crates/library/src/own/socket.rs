//! `require "socket"`: filters for copies of an interface's frames.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const SOCKET: Library = Library {
    name: "socket",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("socket.filter"), Function::load("socket.detach")],
    instead: REGISTER,
};
