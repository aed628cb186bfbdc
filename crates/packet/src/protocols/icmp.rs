//! `pkt.icmp`: ICMP (RFC 792) and ICMPv6 (RFC 4443).

use super::header::{Field, Headers, Parsing, Protocol, Values};
use super::{neighbours, transport};
use crate::assign::{Place, Sum, Takes};
use crate::{Access, Machine, Value};
use moonhook_ir::Size;
use moonhook_ir::words::Word;

/// Bytes of the header, with identifier and sequence number.
pub const LENGTH: u32 = 8;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "icmp",
        |machine| machine.header_paths("icmp", parse),
        vec![
            Field::new("type", |c| field(c, 0, Size::B1))
                .assigned(Takes::Number(8), |c, value, _| assign(c, Place::word(0, Size::B1), value)),
            Field::new("code", |c| field(c, 1, Size::B1))
                .assigned(Takes::Number(8), |c, value, _| assign(c, Place::word(1, Size::B1), value)),
            Field::new("checksum", |c| field(c, 2, Size::B2)).assigned(Takes::Number(16), |c, value, _| {
                transport::write(c, ("icmp", parse), LENGTH, Place::word(2, Size::B2), value)
            }),
            Field::new("id", |c| field(c, 4, Size::B2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(4, Size::B2), value)),
            Field::new("seq", |c| field(c, 6, Size::B2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(6, Size::B2), value)),
            Field::new("target", neighbours::target),
            Field::new("link_address", neighbours::link_address),
            Field::new("source_link_address", neighbours::source_link_address),
            Field::new("target_link_address", neighbours::target_link_address),
            Field::new("prefix", neighbours::prefix),
            Field::new("prefix_length", neighbours::prefix_length),
            Field::new("mtu", neighbours::mtu),
            Field::new("dns_server", neighbours::dns_server),
        ],
    )
}

/// The checksum, of ICMPv6 over addresses, too.
pub const SUM: Sum = Sum { at: 2, may_be_none: false };

fn assign<M: Machine>(machine: &mut M, place: Place, value: Value) -> Result<(), M::Stop> {
    transport::assign(machine, ("icmp", parse), (LENGTH, SUM), place, value)
}

/// Words: is it there, where it starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("icmp", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    if let Some((start, _)) = transport::locate(machine, [1, 58], LENGTH, &mut paths)? {
        paths.push(machine.take_path(vec![Word::Imm(1), start]));
    }
    Ok(paths)
}

fn field<M: Machine>(machine: &mut M, at: i64, size: Size) -> Values<M> {
    let words = machine.known_header("icmp", parse)?;
    let word = machine.header_field(words[1], at, size, LENGTH)?;
    machine.only(Value::Number(word))
}
