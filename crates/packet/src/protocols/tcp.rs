//! `pkt.tcp` (RFC 9293 § 3.1).

use super::header::{Field, Headers, Parsing, Protocol, Values, absent};
use super::transport;
use crate::{Access, Machine, Value};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, Size};

/// Bytes of the header without options.
const FIXED: u32 = 20;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol {
        name: "tcp",
        find: |machine| machine.header_ways("tcp", parse),
        fields: vec![
            Field { name: "sport", read: |c| field(c, 0, Size::B2) },
            Field { name: "dport", read: |c| field(c, 2, Size::B2) },
            Field { name: "seq", read: |c| field(c, 4, Size::B4) },
            Field { name: "ack", read: |c| field(c, 8, Size::B4) },
            Field { name: "flags", read: |c| field(c, 13, Size::B1) },
            Field { name: "window", read: |c| field(c, 14, Size::B2) },
            Field { name: "checksum", read: |c| field(c, 16, Size::B2) },
            Field { name: "urgent", read: |c| field(c, 18, Size::B2) },
            Field { name: "fin", read: |c| flag(c, 0) },
            Field { name: "syn", read: |c| flag(c, 1) },
            Field { name: "rst", read: |c| flag(c, 2) },
            Field { name: "psh", read: |c| flag(c, 3) },
            Field { name: "urg", read: |c| flag(c, 5) },
            Field { name: "ece", read: |c| flag(c, 6) },
            Field { name: "cwr", read: |c| flag(c, 7) },
            Field {
                name: "header_length",
                read: |machine| {
                    let words = machine.known_header("tcp", parse)?;
                    let length = machine.sub(words[2], words[1]);
                    machine.only(Value::Number(length))
                },
            },
        ],
    }
}

/// Words: is it there, where it starts, where its payload starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut ways = Vec::new();
    let Some((start, header)) = transport::locate(machine, [6, 6], FIXED, &mut ways)? else {
        return Ok(ways);
    };
    // The data offset is the high half of byte 12, in words of 4 bytes.
    let offset = machine.load_at(header.plus(12), Size::B1, false);
    let words = machine.shr(offset, 4);
    let length = machine.shl(words, 2);
    let short = machine.compare(CompareOp::ULt, length, i64::from(FIXED));
    let (short, enough) = machine.split(short);
    ways.extend(absent([short]));
    machine.resume(enough);
    let payload = machine.add(start, length);
    let (_, outside) = machine.locate(payload, 0);
    ways.extend(absent(outside));
    ways.push(machine.take_way(vec![Word::Imm(1), start, payload]));
    Ok(ways)
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
