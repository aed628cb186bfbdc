//! Methods of `pkt.http`.

use crate::Gives::Text;
use crate::{COMPUTED, Found, Function, Library};

pub const HTTP: Library = Library {
    name: "http",
    found: Found::Methods,
    constants: &[],
    functions: &[Function::stub(HEADER, &[Text])],
    instead: COMPUTED,
};

/// The value of a field of the message, by its name.
pub const HEADER: &str = "http.header";
