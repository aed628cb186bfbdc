//! `require "ip"`: IP addresses out of texts, and their prefixes.

use crate::Gives::Text;
use crate::{COMPUTED, Found, Function, Library};

pub const IP: Library = Library {
    name: "ip",
    found: Found::Module,
    constants: &[],
    functions: &[Function::stub("ip.parse", &[Text]), Function::stub("ip.prefix", &[Text])],
    instead: COMPUTED,
};
