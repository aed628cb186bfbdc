//! `require "tc"`: handlers of traffic control, and where else they can send packets.

use super::register::REGISTER;
use crate::Gives::Integer;
use crate::{Found, Function, Library};

pub const TC: Library = Library {
    name: "tc",
    found: Found::Module,
    constants: &[],
    functions: &[
        Function::load("tc.ingress"),
        Function::load("tc.egress"),
        Function::load("tc.detach"),
        Function::stub("tc.clone", &[]),
        Function::stub("tc.redirect_neigh", &[Integer]),
        Function::stub("tc.redirect_peer", &[Integer]),
    ],
    instead: REGISTER,
};
