//! `require "bpf"`: functions and maps of C objects.

use crate::Gives::{Boolean, Integer, Nothing};
use crate::{Found, Function, Library};

pub const BPF: Library = Library {
    name: "bpf",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("bpf.object").instead("load objects at load time, outside the handler")],
    instead: "load objects at load time, outside the handler",
};

/// What functions of objects call: the function's number, and its arguments, of records all integers that are in them. What the function
/// gives, and the integers of records as they are now.
pub const CALL: Function = Function::stub("object function", &[Integer]);

/// Reads a map: its number, the integers of the key. Whether there is an entry, and the integers of the value.
pub const GET: Function = Function::stub("object map get", &[Boolean, Integer]);

/// Writes a map: its number, the integers of the key and of the value. Whether that was possible.
pub const SET: Function = Function::stub("object map set", &[Boolean, Nothing]);

/// Removes an entry of a map: its number, the integers of the key. Whether that was possible.
pub const DELETE: Function = Function::stub("object map delete", &[Boolean, Nothing]);

/// What tables of objects call for a name that they do not have: the table and the name. It is an error, at load time, too.
pub const MEMBER: Function = Function::load("bpf.object field");

/// The keys of a map, outside of packets: its number.
pub const KEYS: Function = Function::load("bpf.object keys");
