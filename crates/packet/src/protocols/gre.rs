//! `pkt.gre`: generic routing encapsulation (RFC 2784), with key and sequence number (RFC 2890).

use super::header::{Field, Headers, Parsing, Protocol, Values, absent, nothing};
use super::transport;
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, Size};

/// Bytes that every header has.
const LENGTH: u32 = 4;

/// Bits of the first 16 that say what is there besides, each four bytes, in this order.
const CHECKSUM: i64 = 15;
const KEY: i64 = 13;
const SEQUENCE: i64 = 12;

/// Bits that have to be 0: routing and what is reserved for it (RFC 2784 § 2.3), and the version.
const OTHERS: i64 = 0x4c07;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "gre",
        |machine| machine.header_paths("gre", parse),
        vec![
            Field::new("type", |c: &mut M| {
                let start = start(c)?;
                let word = c.header_field(start, 2, Size::B2, LENGTH)?;
                c.only(Value::Number(word))
            }),
            Field::new("checksum", |c| optional(c, CHECKSUM, &[], Size::B2)),
            Field::new("key", |c| optional(c, KEY, &[CHECKSUM], Size::B4)),
            Field::new("seq", |c| optional(c, SEQUENCE, &[CHECKSUM, KEY], Size::B4)),
        ],
    )
}

/// Words: is it there, where it starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("gre", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    let Some((start, header)) = transport::locate(machine, [47, 47], LENGTH, &mut paths)? else {
        return Ok(paths);
    };
    let flags = machine.load_at(header, Size::B2, false);
    let flags = machine.host_order(flags, Size::B2);
    let others = machine.and(flags, OTHERS);
    let others = machine.compare(CompareOp::Ne, others, 0);
    let (other, plain) = machine.split(others);
    paths.extend(absent([other]));
    machine.resume(plain);
    let length = length_with(machine, flags, &[CHECKSUM, KEY, SEQUENCE]);
    let next = machine.add(start, length);
    let (_, outside) = machine.locate(next, 0)?;
    paths.extend(absent(outside));
    paths.push(machine.take_path(vec![Word::Imm(1), start]));
    Ok(paths)
}

/// Bytes of the header with those of its parts that the flags have.
fn length_with<M: Machine>(machine: &mut M, flags: Word, parts: &[i64]) -> Word {
    parts.iter().fold(Word::Imm(i64::from(LENGTH)), |length, part| {
        let there = machine.shr(flags, *part);
        let there = machine.and(there, 1);
        let bytes = machine.shl(there, 2);
        machine.add(length, bytes)
    })
}

/// Of a header that is there: the type of what follows, as it is loaded, and where that starts.
pub fn behind<M: Machine>(machine: &mut M) -> Result<(Word, Word), M::Stop> {
    let start = start(machine)?;
    let address = machine.known_address(start, LENGTH)?;
    let flags = machine.load_at(address, Size::B2, false);
    let flags = machine.host_order(flags, Size::B2);
    let kind = machine.load_at(address.plus(2), Size::B2, false);
    let length = length_with(machine, flags, &[CHECKSUM, KEY, SEQUENCE]);
    let next = machine.add(start, length);
    Ok((kind, next))
}

fn start<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    Ok(machine.known_header("gre", parse)?[1])
}

/// A part that is there if the flags say so, behind others.
fn optional<M: Machine>(machine: &mut M, part: i64, before: &[i64], size: Size) -> Values<M> {
    let start = start(machine)?;
    let flags = machine.header_field(start, 0, Size::B2, LENGTH)?;
    let there = machine.shr(flags, part);
    let there = machine.and(there, 1);
    let missing = machine.compare(CompareOp::Eq, there, 0);
    let (missing, there) = machine.split(missing);
    let mut paths: ValuePaths<M> = nothing([missing]).collect();
    machine.resume(there);
    let length = length_with(machine, flags, before);
    let place = machine.add(start, length);
    let word = machine.header_field(place, 0, size, 4)?;
    paths.push(machine.take_path(Value::Number(word)));
    Ok(paths)
}
