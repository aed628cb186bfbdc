//! Functions that handlers can call: Lua's own and Moonhook's.
//!
//! Of a function that its row in [`moonhook_library`] calls `expanded` there is a row here: the canonical name, and a function that appends
//! the code of one call. A new file has its line in [`FAMILIES`].

mod base;
mod byte;
mod byteorder;
pub mod call;
mod chain;
mod checksum;
mod convert;
mod copies;
mod data;
mod decimal;
mod digits;
mod dns;
pub mod dns_records;
pub mod event;
mod flow;
mod format;
pub mod gmatch;
mod http;
mod ip;
mod ip_texts;
mod kept;
pub mod lengths;
mod link;
mod linux;
mod mac;
mod math;
mod metatable;
mod named;
mod number;
mod object;
pub mod output;
pub mod own;
mod pattern;
mod quote;
mod redirect;
mod replace;
mod route;
mod string;
mod table;
mod tags;
mod targets;
pub mod traversal;
mod tunnels;

pub use base::{object_text, text_of};
pub use own::is_library_function;
pub use traversal::OUTSIDE;

use self::call::{Call, Row, for_each_type, refuse};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::Abs;
use moonhook_library::Library;

const FAMILIES: &[&[Row]] = &[
    base::ROWS,
    byte::ROWS,
    byteorder::ROWS,
    checksum::ROWS,
    convert::ROWS,
    copies::ROWS[0],
    copies::ROWS[1],
    copies::ROWS[2],
    data::ROWS,
    data::OF_OBJECTS[0],
    data::OF_OBJECTS[1],
    data::OF_OBJECTS[2],
    dns::ROWS,
    dns_records::ROWS,
    event::ROWS,
    chain::ROWS,
    object::ROWS,
    flow::ROWS,
    format::ROWS,
    gmatch::ROWS,
    lengths::ROWS,
    http::ROWS,
    ip::ROWS,
    kept::ROWS,
    link::ROWS,
    linux::ROWS,
    mac::ROWS,
    math::ROWS,
    metatable::ROWS,
    number::ROWS,
    output::ROWS,
    pattern::ROWS,
    redirect::ROWS,
    replace::ROWS,
    route::ROWS,
    string::ROWS,
    table::ROWS,
    tags::ROWS,
    traversal::ROWS,
    tunnels::ROWS,
];

pub fn find_row(name: &str) -> Option<&'static Row> {
    FAMILIES.iter().flat_map(|family| family.iter()).find(|row| row.name == name)
}

/// The canonical name of the library's function, if expanded code has it.
pub fn find(library: &Library, key: &[u8]) -> Option<&'static str> {
    let function = library.function(std::str::from_utf8(key).ok()?)?;
    function.expanded.then_some(function.name)
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

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_library::{find_called, functions, standard};
    use std::collections::BTreeSet;

    #[test]
    fn there_is_each_function_that_its_row_says_and_no_other_one() {
        let mut names = BTreeSet::new();
        for row in FAMILIES.iter().flat_map(|family| family.iter()) {
            assert!(names.insert(row.name), "`{}` is there twice", row.name);
            assert!(
                find_called(row.name).is_some_and(|function| function.expanded),
                "`{}` has no row",
                row.name
            );
        }
        for function in functions().chain(standard::ITERATORS.iter().copied()) {
            assert_eq!(names.contains(function.name), function.expanded, "{}", function.name);
        }
    }
}
