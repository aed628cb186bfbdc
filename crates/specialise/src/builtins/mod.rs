//! Functions that handlers can call: Lua's own and Moonhook's.
//!
//! A built-in is a row: its canonical name, as the load stage gives it, and a function that appends the code of one call.
//! A new one is a new file (or a row in one) and a line in [`FAMILIES`].

mod base;
mod byte;
mod byteorder;
pub mod call;
mod convert;
mod data;
mod digits;
pub mod event;
mod format;
pub mod gmatch;
mod linux;
mod math;
mod metatable;
mod number;
pub mod output;
pub mod own;
mod pattern;
mod quote;
mod replace;
mod string;
mod table;
pub mod traversal;

pub use base::{object_text, text_of};
pub use own::is_library_function;

use self::call::{Call, Row, for_each_type, refuse};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::Abs;

const FAMILIES: &[&[Row]] = &[
    base::ROWS,
    byte::ROWS,
    byteorder::ROWS,
    convert::ROWS,
    data::ROWS,
    event::ROWS,
    format::ROWS,
    gmatch::ROWS,
    linux::ROWS,
    math::ROWS,
    metatable::ROWS,
    number::ROWS,
    output::ROWS,
    pattern::ROWS,
    replace::ROWS,
    string::ROWS,
    table::ROWS,
    traversal::ROWS,
];

pub fn find_row(name: &str) -> Option<&'static Row> {
    FAMILIES.iter().flat_map(|family| family.iter()).find(|row| row.name == name)
}

/// The canonical name of `library.function`, if packet code can call it.
pub fn find(library: &str, function: &[u8]) -> Option<&'static str> {
    let function = std::str::from_utf8(function).ok()?;
    let is =
        |row: &&Row| row.name.strip_prefix(library).and_then(|rest| rest.strip_prefix('.')) == Some(function);
    FAMILIES.iter().flat_map(|family| family.iter()).find(is).map(|row| row.name)
}

/// The names of the functions of a library that packet code can call.
pub fn names(library: &'static str) -> impl Iterator<Item = &'static str> {
    let all = FAMILIES.iter().flat_map(|family| family.iter());
    all.filter_map(move |row| row.name.strip_prefix(library)?.strip_prefix('.'))
}

/// Makes the call in the current state.
pub fn call(context: &mut Context<'_>, call: Call) -> Result<Vec<Arm>> {
    let Some(row) = find_row(call.name) else { return refuse(context, &call) };
    let unknown = call.args.iter().position(|arg| matches!(arg, Abs::Union(_)));
    match unknown {
        Some(index) if !row.any_type => for_each_type(context, &call, index, self::call),
        _ => (row.emit)(context, &call),
    }
}
