//! Strings (Lua manual § 6.5), which have these functions as methods.

use crate::Gives::{Integer, Iterator, Mixed, Nothing, Text};
use crate::{COMPUTED, Callback, Found, Function, Library, With};

pub const STRING: Library = Library {
    name: "string",
    found: Found::Standard,
    constants: &[],
    functions: &[
        Function::both("string.byte", &[Integer]),
        Function::both("string.char", &[Text]),
        Function::load("string.dump"),
        Function::both("string.find", &[Integer, Integer, Text]),
        Function::both("string.format", &[Text]),
        Function::both("string.gmatch", &[Iterator(&NEXT_MATCH), Nothing]),
        Function::both("string.gsub", &[Text, Integer, Nothing])
            .calls(&[Callback { argument: 2, with: With::Parts(4) }]),
        Function::both("string.len", &[Integer]),
        Function::both("string.lower", &[Text]),
        Function::both("string.match", &[Text]),
        Function::general("string.pack", &[Text]),
        Function::general("string.packsize", &[Integer]),
        Function::both("string.rep", &[Text]),
        Function::both("string.reverse", &[Text]),
        Function::both("string.sub", &[Text]),
        Function::general("string.unpack", &[Mixed]),
        Function::both("string.upper", &[Text]),
    ],
    instead: COMPUTED,
};

/// What `string.gmatch` gives.
pub const NEXT_MATCH: Function = Function::general("gmatch iterator", &[Text]);
