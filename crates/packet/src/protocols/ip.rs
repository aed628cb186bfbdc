//! `pkt.ip`: IPv4 and IPv6 alike.

use super::header::{Field, Headers, Protocol, Values};
use super::ip_writes as writes;
use super::network::{self, IPV4, IPV6, Part};
use crate::assign::{Place, Takes};
use crate::{Access, Machine, Value};
use moonhook_ir::words::{Branches, Path, Word};
use moonhook_ir::{CompareOp, Size};

/// Bytes of an IPv6 fragment header.
const FRAGMENT: u32 = 8;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "ip",
        |machine| machine.header_paths("ip", network::parse),
        vec![
            Field::new("version", |c| part(c, Part::Version)),
            Field::new("proto", |c| part(c, Part::Protocol)),
            Field::new("fragment_offset", |c| part(c, Part::FragmentOffset)),
            Field::new("more_fragments", more_fragments),
            Field::new("header_length", header_length),
            Field::new("src", |c| {
                by_version(c, |c, start| v4_address(c, start, 12), |c, start| v6_address(c, start, 8))
            })
            .assigned(Takes::Address, |c, value, refused| writes::address(c, value, refused, [12, 8])),
            Field::new("dst", |c| {
                by_version(c, |c, start| v4_address(c, start, 16), |c, start| v6_address(c, start, 24))
            })
            .assigned(Takes::Address, |c, value, refused| writes::address(c, value, refused, [16, 24])),
            Field::new("tos", |c| {
                by_version(c, |c, start| v4(c, start, 1, Size::B1), |c, start| v6_bits(c, start, 20, 0xff))
            })
            .assigned(Takes::Number(8), |c, value, refused| {
                writes::bits(c, value, refused, traffic_class(0, 8))
            }),
            Field::new("dscp", |c| {
                by_version(
                    c,
                    |c, start| v4_bits(c, start, 1, 2, 0x3f),
                    |c, start| v6_bits(c, start, 22, 0x3f),
                )
            })
            .assigned(Takes::Number(6), |c, value, refused| {
                writes::bits(c, value, refused, traffic_class(2, 6))
            }),
            Field::new("ecn", |c| {
                by_version(c, |c, start| v4_bits(c, start, 1, 0, 3), |c, start| v6_bits(c, start, 20, 3))
            })
            .assigned(Takes::Number(2), |c, value, refused| {
                writes::bits(c, value, refused, traffic_class(0, 2))
            }),
            Field::new("ttl", |c| {
                by_version(c, |c, start| v4(c, start, 8, Size::B1), |c, start| v6(c, start, 7, Size::B1))
            })
            .assigned(Takes::Number(8), |c, value, refused| {
                writes::bits(
                    c,
                    value,
                    refused,
                    [Some(Place::word(8, Size::B1)), Some(Place::word(7, Size::B1))],
                )
            }),
            Field::new("length", |c| {
                by_version(
                    c,
                    |c, start| Ok(Value::Number(network::length(c, start, 4)?)),
                    |c, start| Ok(Value::Number(network::length(c, start, 6)?)),
                )
            }),
            Field::new("id", identification).assigned(Takes::Number(16), |c, value, refused| {
                writes::bits(c, value, refused, [Some(Place::word(4, Size::B2)), None])
            }),
            Field::new("dont_fragment", |c: &mut M| {
                by_version(
                    c,
                    |c, start| {
                        let flags = c.header_field(start, 6, Size::B2, IPV4)?;
                        Ok(c.bit(flags, 14))
                    },
                    |_, _| Ok(Value::Nothing),
                )
            })
            .assigned(Takes::Flag, |c, value, refused| {
                writes::bits(c, value, refused, [Some(Place::part(6, Size::B2, 14, 1)), None])
            }),
            Field::new("checksum", |c| {
                by_version(c, |c, start| v4(c, start, 10, Size::B2), |_, _| Ok(Value::Nothing))
            })
            .assigned(Takes::Number(16), |c, value, refused| {
                writes::bits(c, value, refused, [Some(Place::word(10, Size::B2)), None])
            }),
            Field::new("flow", |c| {
                by_version(c, |_, _| Ok(Value::Nothing), |c, start| v6_bits(c, start, 0, 0xf_ffff))
            })
            .assigned(Takes::Number(20), |c, value, refused| {
                writes::bits(c, value, refused, [None, Some(Place::part(0, Size::B4, 0, 20))])
            }),
        ],
    )
}

/// Bits of the octet that has DSCP in its upper six (RFC 2474) and ECN in its lower two (RFC 3168), under IPv4 and IPv6.
const fn traffic_class(shift: i64, bits: u32) -> [Option<Place>; 2] {
    [Some(Place::part(1, Size::B1, shift, bits)), Some(Place::part(0, Size::B4, 20 + shift, bits))]
}

fn words<M: Machine>(machine: &mut M) -> Result<Vec<Word>, M::Stop> {
    machine.known_header("ip", network::parse)
}

fn part<M: Machine>(machine: &mut M, part: Part) -> Values<M> {
    let words = words(machine)?;
    machine.only(Value::Number(words[part as usize]))
}

fn more_fragments<M: Machine>(machine: &mut M) -> Values<M> {
    let words = words(machine)?;
    machine.only(Value::Flag(words[Part::MoreFragments as usize]))
}

fn header_length<M: Machine>(machine: &mut M) -> Values<M> {
    let words = words(machine)?;
    let length = machine.sub(words[Part::Next as usize], words[Part::Start as usize]);
    machine.only(Value::Number(length))
}

type AtStart<M> = fn(&mut M, Word) -> Result<Value, <M as Branches>::Stop>;

/// One path for each version; each is given where the header starts.
fn by_version<M: Machine>(machine: &mut M, v4: AtStart<M>, v6: AtStart<M>) -> Values<M> {
    let words = words(machine)?;
    let start = words[Part::Start as usize];
    let mut paths = Vec::new();
    for ((state, _), read) in network::by_version(machine, &words).into_iter().zip([v4, v6]) {
        machine.resume(state);
        if machine.alive() {
            let value = read(machine, start)?;
            paths.push(machine.take_path(value));
        }
    }
    Ok(paths)
}

fn v4<M: Machine>(machine: &mut M, start: Word, at: i64, size: Size) -> Result<Value, M::Stop> {
    Ok(Value::Number(machine.header_field(start, at, size, IPV4)?))
}

fn v6<M: Machine>(machine: &mut M, start: Word, at: i64, size: Size) -> Result<Value, M::Stop> {
    Ok(Value::Number(machine.header_field(start, at, size, IPV6)?))
}

/// Bits of one byte of the header.
fn v4_bits<M: Machine>(
    machine: &mut M,
    start: Word,
    at: i64,
    shift: i64,
    mask: i64,
) -> Result<Value, M::Stop> {
    let byte = machine.header_field(start, at, Size::B1, IPV4)?;
    let byte = machine.shr(byte, shift);
    Ok(Value::Number(machine.and(byte, mask)))
}

/// Bits of the header's first word.
fn v6_bits<M: Machine>(machine: &mut M, start: Word, shift: i64, mask: i64) -> Result<Value, M::Stop> {
    let word = machine.header_field(start, 0, Size::B4, IPV6)?;
    let word = machine.shr(word, shift);
    Ok(Value::Number(machine.and(word, mask)))
}

fn v4_address<M: Machine>(machine: &mut M, start: Word, at: i64) -> Result<Value, M::Stop> {
    Ok(Value::Ipv4(machine.header_field(start, at, Size::B4, IPV4)?))
}

fn v6_address<M: Machine>(machine: &mut M, start: Word, at: i64) -> Result<Value, M::Stop> {
    let high = machine.header_field(start, at, Size::B8, IPV6)?;
    let low = machine.header_field(start, at + 8, Size::B8, IPV6)?;
    Ok(Value::Ipv6(high, low))
}

fn identification<M: Machine>(machine: &mut M) -> Values<M> {
    let words = words(machine)?;
    let (start, fragment) = (words[Part::Start as usize], words[Part::FragmentHeader as usize]);
    let [(four, _), (six, _)] = network::by_version(machine, &words);
    let mut paths = Vec::new();
    machine.resume(four);
    if machine.alive() {
        let value = v4(machine, start, 4, Size::B2)?;
        paths.push(machine.take_path(value));
    }
    machine.resume(six);
    let none = machine.compare(CompareOp::Eq, fragment, 0);
    let (none, some) = machine.split(none);
    paths.push(Path { state: none, values: Value::Nothing });
    machine.resume(some);
    if machine.alive() {
        let id = machine.header_field(fragment, 4, Size::B4, FRAGMENT)?;
        paths.push(machine.take_path(Value::Number(id)));
    }
    Ok(paths)
}
