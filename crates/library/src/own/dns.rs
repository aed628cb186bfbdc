//! `require "dns"`: answers to questions.

use crate::Gives::Integer;
use crate::{COMPUTED, Found, Function, Library};

pub const DNS: Library = Library {
    name: "dns",
    found: Found::Module,
    constants: &[],
    functions: &[Function::both(ANSWER, &[Integer])],
    instead: COMPUTED,
};

/// Makes an answer of a packet that asks a question, and gives the verdict with which it goes back.
pub const ANSWER: &str = "dns.answer";

/// What general code calls of it: with the fields of its table, and to check the packet only.
pub const ANSWER_PARTS: [&str; 2] = ["prim.dns_answer", "prim.dns_check"];
