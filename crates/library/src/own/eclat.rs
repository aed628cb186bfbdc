//! `require "eclat"`: chains of eCLAT as functions.

use crate::Gives::Integer;
use crate::{Found, Function, Library};

pub const ECLAT: Library = Library {
    name: "eclat",
    found: Found::Module,
    constants: &[],
    functions: &[
        Function::load("eclat.chain").instead("load chains at load time, outside the handler"),
        Function::load("eclat.attach").instead("attach scripts at load time, outside the handler"),
    ],
    instead: "load chains at load time, outside the handler",
};

/// What functions of `eclat.chain` call: the chain's number, the packet, and the chain's arguments. What the chain returns.
pub const CALL: Function = Function::stub("chain", &[Integer]);

/// What handlers of `eclat.attach` call: the loader's number and the packet. The packet's verdict.
pub const LOAD: Function = Function::stub("loader", &[Integer]);
