//! `pkt.sctp`: the common header of SCTP (RFC 9260 § 3.1).

use super::header::{Field, Headers, Parsing, Protocol, Values};
use super::transport;
use crate::{Access, Machine, Value};
use moonhook_ir::Size;
use moonhook_ir::words::Word;

/// Bytes of the header.
const LENGTH: u32 = 12;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "sctp",
        |machine| machine.header_paths("sctp", parse),
        vec![
            Field::new("sport", |c| field(c, 0, Size::B2)),
            Field::new("dport", |c| field(c, 2, Size::B2)),
            Field::new("vtag", |c| field(c, 4, Size::B4)),
            Field::new("checksum", |c| field(c, 8, Size::B4)),
        ],
    )
}

/// Words: is it there, where it starts.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("sctp", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    if let Some((start, _)) = transport::locate(machine, [132, 132], LENGTH, &mut paths)? {
        paths.push(machine.take_path(vec![Word::Imm(1), start]));
    }
    Ok(paths)
}

fn field<M: Machine>(machine: &mut M, at: i64, size: Size) -> Values<M> {
    let words = machine.known_header("sctp", parse)?;
    let word = machine.header_field(words[1], at, size, LENGTH)?;
    machine.only(Value::Number(word))
}
