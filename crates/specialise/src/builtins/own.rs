//! Which library functions there are at packet time, and which of them are Moonhook's own: no part of Lua's standard library.

use super::call::Row;
use super::{dns, dns_records, find_row, targets, tunnels};
use moonhook_library::{Function, General, find, find_called};

/// Prints strings: the arguments, with tabs between them.
pub const PRINT: &str = "prim.print";
/// Sends an event: its name, and its values. Of a record, the list of its names comes first, then name and value of each
/// field.
pub const EVENT: &str = "prim.event";
/// The text of an object: the bytes of a packet; of a header, for which Lua shows an address, `header: ` and its name.
pub const TEXT: &str = "prim.object_text";

/// Whether general code calls a stub for the library function of that canonical name.
pub fn is_own(name: &str) -> bool {
    [PRINT, EVENT, TEXT].contains(&name) || own_row(name).is_some()
}

/// Parts of functions that are written in Lua in general code.
const PARTS: &[&[Row]] = &[tunnels::PARTS, dns::PARTS, dns_records::PARTS, targets::PARTS];

/// The function as it is expanded in place elsewhere, or a part of one.
pub fn own_row(name: &str) -> Option<&'static Row> {
    if let Some(part) = PARTS.iter().flat_map(|parts| parts.iter()).find(|part| part.name == name) {
        return Some(part);
    }
    find_called(name).filter(|function| function.general == General::Stub).and_then(|_| find_row(name))
}

/// Whether there is a library function of that canonical name at packet time, in one form or the other.
pub fn is_library_function(name: &str) -> bool {
    find(name).is_some_and(Function::is_for_packets)
}
