//! `require "dns"`: answers to questions; and methods of `pkt.dns`.

use crate::Gives::{Integer, Iterator, Mixed, Nothing};
use crate::{COMPUTED, Found, Function, Library};

pub const DNS: Library = Library {
    name: "dns",
    found: Found::Module,
    constants: &[],
    functions: &[Function::both(ANSWER, &[Integer])],
    instead: COMPUTED,
};

/// Methods of `pkt.dns`.
pub const MESSAGE: Library = Library {
    name: "dns_message",
    found: Found::Methods,
    constants: &[],
    functions: &[
        Function::both(ANSWERS, &[Iterator(&NEXT_RECORD), Nothing]),
        Function::both(AUTHORITIES, &[Iterator(&NEXT_RECORD), Nothing]),
        Function::both(ADDITIONALS, &[Iterator(&NEXT_RECORD), Nothing]),
    ],
    instead: COMPUTED,
};

/// The header whose methods they are.
pub const HEADER: &str = "dns";

/// The records of a section.
pub const ANSWERS: &str = "dns_message.answers";
pub const AUTHORITIES: &str = "dns_message.authorities";
pub const ADDITIONALS: &str = "dns_message.additionals";

/// What these give: each call gives a record, a table with [`RECORD`]'s fields.
pub const NEXT_RECORD: Function = Function::general("dns record iterator", &[Mixed]);

/// Fields of records that are integers, and that are strings.
pub const RECORD: [&[&str]; 2] =
    [&["type", "class", "ttl", "preference"], &["name", "data", "address", "target"]];

/// What general code calls of them, with the message: for where a section starts; of a record at a position, for what it begins with, and for
/// its data.
pub const RECORD_PARTS: [&str; 3] = ["prim.dns_section", "prim.dns_record", "prim.dns_data"];

/// Makes an answer of a packet that asks a question, and gives the verdict with which it goes back.
pub const ANSWER: &str = "dns.answer";

/// What general code calls of it, one behind the other: with the fields of its table, to make the message; to exchange addresses; to compute
/// checksums; to give the verdict. The last one only checks the packet.
pub const ANSWER_PARTS: [&str; 5] =
    ["prim.dns_answer", "prim.dns_turn", "prim.dns_checksums", "prim.dns_verdict", "prim.dns_check"];
