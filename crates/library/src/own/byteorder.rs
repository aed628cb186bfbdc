//! `require "byteorder"`: conversions between host, network, little and big endian, with Lunatik's names. An argument is cut to the width
//! of the conversion; results of 16 and 32 bits are unsigned, of 64 bits signed, as in Lunatik.

use super::Width;
use super::Width::{B2, B4, B8};
use crate::{COMPUTED, Found, Function, Gives, Library};

pub const BYTEORDER: Library = Library {
    name: "byteorder",
    found: Found::Module,
    constants: &[],
    functions: &FUNCTIONS,
    instead: COMPUTED,
};

/// A conversion between the machine's byte order and another one; the way back is the same.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    pub width: Width,
    /// The other order is big-endian.
    pub big: bool,
}

const fn big(width: Width) -> Conversion {
    Conversion { width, big: true }
}

const fn little(width: Width) -> Conversion {
    Conversion { width, big: false }
}

/// All of them, by canonical name.
pub const CONVERSIONS: [(&str, Conversion); 18] = [
    ("byteorder.hton16", big(B2)),
    ("byteorder.hton32", big(B4)),
    ("byteorder.hton64", big(B8)),
    ("byteorder.ntoh16", big(B2)),
    ("byteorder.ntoh32", big(B4)),
    ("byteorder.ntoh64", big(B8)),
    ("byteorder.htobe16", big(B2)),
    ("byteorder.htobe32", big(B4)),
    ("byteorder.htobe64", big(B8)),
    ("byteorder.be16toh", big(B2)),
    ("byteorder.be32toh", big(B4)),
    ("byteorder.be64toh", big(B8)),
    ("byteorder.htole16", little(B2)),
    ("byteorder.htole32", little(B4)),
    ("byteorder.htole64", little(B8)),
    ("byteorder.le16toh", little(B2)),
    ("byteorder.le32toh", little(B4)),
    ("byteorder.le64toh", little(B8)),
];

const FUNCTIONS: [Function; CONVERSIONS.len()] = {
    let mut functions = [Function::load(""); CONVERSIONS.len()];
    let mut number = 0;
    while number < functions.len() {
        functions[number] = Function::stub(CONVERSIONS[number].0, &[Gives::Integer]);
        number += 1;
    }
    functions
};

/// The conversion that a canonical name is of.
pub fn conversion(name: &str) -> Option<Conversion> {
    CONVERSIONS.iter().find(|(known, _)| *known == name).map(|(_, conversion)| *conversion)
}
