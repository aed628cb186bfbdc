//! Tables (Lua manual § 6.7).

use crate::Gives::{Element, Given, Nothing, Text};
use crate::{Callback, Found, Function, Library, With};

pub const TABLE: Library = Library {
    name: "table",
    found: Found::Standard,
    constants: &[],
    functions: &[
        Function::both("table.concat", &[Text]),
        Function::general("table.create", &[]),
        Function::both("table.insert", &[Given]),
        Function::general("table.move", &[Given]),
        Function::general("table.pack", &[Given]),
        Function::both("table.remove", &[Element, Nothing]),
        Function::general("table.sort", &[Given]).calls(&[Callback { argument: 1, with: With::Elements(2) }]),
        Function::both("table.unpack", &[Element]),
    ],
    instead: "make and change tables at load time, outside the handler",
};
