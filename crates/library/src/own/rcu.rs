//! `require "rcu"`: tables under Lunatik's name. `map` is Lua, compiled like a script, and no row.

use crate::{COMPUTED, Found, Function, Library};

pub const RCU: Library = Library {
    name: "rcu",
    found: Found::Module,
    constants: &[],
    functions: &[Function::load("rcu.table")],
    instead: COMPUTED,
};
