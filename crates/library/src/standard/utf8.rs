//! UTF-8 (Lua manual § 6.6).

use crate::Gives::{Integer, Iterator, Nothing, Text};
use crate::{COMPUTED, Found, Function, Library};

pub const UTF8: Library = Library {
    name: "utf8",
    found: Found::Standard,
    constants: &["charpattern"],
    functions: &[
        Function::general("utf8.char", &[Text]),
        Function::general("utf8.codepoint", &[Integer]),
        Function::general("utf8.codes", &[Iterator(&NEXT_CODE), Nothing]),
        Function::general("utf8.len", &[Integer]),
        Function::general("utf8.offset", &[Integer]),
    ],
    instead: COMPUTED,
};

/// What `utf8.codes` gives.
pub const NEXT_CODE: Function = Function::general("codes iterator", &[Integer]);
