//! `pkt.tcp` (RFC 9293 § 3.1).

use super::header::{Field, Headers, Parsing, Protocol, Values, absent};
use super::transport;
use crate::assign::{Place, Sum, Takes};
use crate::{Access, Machine, Value};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, Size};

/// Bytes of the header without options.
pub const FIXED: u32 = 20;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "tcp",
        |machine| machine.header_paths("tcp", parse),
        vec![
            Field::new("sport", |c| field(c, 0, Size::B2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(0, Size::B2), value)),
            Field::new("dport", |c| field(c, 2, Size::B2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(2, Size::B2), value)),
            Field::new("seq", |c| field(c, 4, Size::B4))
                .assigned(Takes::Number(32), |c, value, _| assign(c, Place::word(4, Size::B4), value)),
            Field::new("ack", |c| field(c, 8, Size::B4))
                .assigned(Takes::Number(32), |c, value, _| assign(c, Place::word(8, Size::B4), value)),
            Field::new("flags", |c| field(c, 13, Size::B1))
                .assigned(Takes::Number(8), |c, value, _| assign(c, Place::word(13, Size::B1), value)),
            Field::new("window", |c| field(c, 14, Size::B2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(14, Size::B2), value)),
            Field::new("checksum", |c| field(c, 16, Size::B2)).assigned(Takes::Number(16), |c, value, _| {
                transport::write(c, ("tcp", parse), FIXED, Place::word(16, Size::B2), value)
            }),
            Field::new("urgent", |c| field(c, 18, Size::B2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(18, Size::B2), value)),
            Field::new("fin", |c| flag(c, 0))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 0), value)),
            Field::new("syn", |c| flag(c, 1))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 1), value)),
            Field::new("rst", |c| flag(c, 2))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 2), value)),
            Field::new("psh", |c| flag(c, 3))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 3), value)),
            Field::new("urg", |c| flag(c, 5))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 5), value)),
            Field::new("ece", |c| flag(c, 6))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 6), value)),
            Field::new("cwr", |c| flag(c, 7))
                .assigned(Takes::Flag, |c, value, _| assign(c, Place::flag(13, 7), value)),
            Field::new("header_length", |machine| {
                let words = machine.known_header("tcp", parse)?;
                let length = machine.sub(words[2], words[1]);
                machine.only(Value::Number(length))
            }),
        ],
    )
}

/// The checksum.
pub const SUM: Sum = Sum { at: 16, may_be_none: false };

fn assign<M: Machine>(machine: &mut M, place: Place, value: Value) -> Result<(), M::Stop> {
    transport::assign(machine, ("tcp", parse), (FIXED, SUM), place, value)
}

/// Words: is it there, where it starts, where its payload starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("tcp", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    let Some((start, header)) = transport::locate(machine, [6, 6], FIXED, &mut paths)? else {
        return Ok(paths);
    };
    // The data offset is the high half of byte 12, in words of 4 bytes.
    let offset = machine.load_at(header.plus(12), Size::B1, false);
    let words = machine.shr(offset, 4);
    let length = machine.shl(words, 2);
    let short = machine.compare(CompareOp::ULt, length, i64::from(FIXED));
    let (short, enough) = machine.split(short);
    paths.extend(absent([short]));
    machine.resume(enough);
    let payload = machine.add(start, length);
    let (_, outside) = machine.locate(payload, 0)?;
    paths.extend(absent(outside));
    paths.push(machine.take_path(vec![Word::Imm(1), start, payload]));
    Ok(paths)
}

fn read<M: Machine>(machine: &mut M, at: i64, size: Size) -> Result<Word, M::Stop> {
    let words = machine.known_header("tcp", parse)?;
    machine.header_field(words[1], at, size, FIXED)
}

fn field<M: Machine>(machine: &mut M, at: i64, size: Size) -> Values<M> {
    let word = read(machine, at, size)?;
    machine.only(Value::Number(word))
}

fn flag<M: Machine>(machine: &mut M, number: i64) -> Values<M> {
    let flags = read(machine, 13, Size::B1)?;
    let flag = machine.bit(flags, number);
    machine.only(flag)
}
