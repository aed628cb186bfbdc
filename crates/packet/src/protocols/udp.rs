//! `pkt.udp` (RFC 768).

use super::header::{Field, Headers, Parsing, Protocol, Values};
use super::transport;
use crate::assign::{Place, Sum, Takes};
use crate::{Access, Machine, Value};
use moonhook_ir::Size;
use moonhook_ir::words::Word;

/// Bytes of the header.
pub const LENGTH: u32 = 8;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "udp",
        |machine| machine.header_paths("udp", parse),
        vec![
            Field::new("sport", |c| field(c, 0))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(0, Size::B2), value)),
            Field::new("dport", |c| field(c, 2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(2, Size::B2), value)),
            Field::new("length", |c| field(c, 4)),
            Field::new("checksum", |c| field(c, 6)).assigned(Takes::Number(16), |c, value, _| {
                transport::write(c, ("udp", parse), LENGTH, Place::word(6, Size::B2), value)
            }),
        ],
    )
}

/// The checksum.
pub const SUM: Sum = Sum { at: 6, may_be_none: true };

fn assign<M: Machine>(machine: &mut M, place: Place, value: Value) -> Result<(), M::Stop> {
    transport::assign(machine, ("udp", parse), (LENGTH, SUM), place, value)
}

/// Words: is it there, where it starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    if let Some((start, _)) = transport::locate(machine, [17, 17], LENGTH, &mut paths)? {
        paths.push(machine.take_path(vec![Word::Imm(1), start]));
    }
    Ok(paths)
}

fn field<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let words = machine.known_header("udp", parse)?;
    let word = machine.header_field(words[1], at, Size::B2, LENGTH)?;
    machine.only(Value::Number(word))
}
