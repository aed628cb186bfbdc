//! `require "mac"`: MAC addresses out of texts and bytes.

use crate::Gives::Text;
use crate::{COMPUTED, Found, Function, Library};

pub const MAC: Library = Library {
    name: "mac",
    found: Found::Module,
    constants: &[],
    functions: &[Function::stub("mac.parse", &[Text])],
    instead: COMPUTED,
};
