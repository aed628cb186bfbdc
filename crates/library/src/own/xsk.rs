//! `require "xsk"`: frames that handlers send to sockets of the process, and frames that control code sends.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const XSK: Library = Library {
    name: "xsk",
    found: Found::Module,
    constants: &[],
    functions: &[
        Function::load("xsk.receive"),
        Function::load("xsk.send").instead("`return redirect(interface)`, or have control code send frames"),
    ],
    instead: REGISTER,
};
