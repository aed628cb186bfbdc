//! `pkt.tcp` (RFC 9293 § 3.1).

use super::header::{Field, Protocol, absent, bit};
use super::transport;
use crate::context::{Context, Result};
use crate::value::{Abs, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, Size};

/// Bytes of the header without options.
const FIXED: u32 = 20;

pub const PROTOCOL: Protocol = Protocol {
    name: "tcp",
    find: |context| context.header_arms("tcp", parse),
    fields: &[
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
            read: |context| {
                let words = context.known_header("tcp", parse)?;
                let length = context.sub(words[2], words[1]);
                context.only(Abs::Int(length))
            },
        },
    ],
};

/// Words: is it there, where it starts, where its payload starts.
pub fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    let Some((start, header)) = transport::locate(context, [6, 6], FIXED, &mut arms)? else {
        return Ok(arms);
    };
    // The data offset is the high half of byte 12, in words of 4 bytes.
    let offset = context.load_at(header.plus(12), Size::B1, false);
    let words = context.shr(offset, 4);
    let length = context.shl(words, 2);
    let short = context.compare(CompareOp::ULt, length, i64::from(FIXED));
    let (short, enough) = context.split(short);
    arms.extend(absent([short]));
    context.state = enough;
    let payload = context.add(start, length);
    let (_, outside) = context.locate(payload, 0);
    arms.extend(absent(outside));
    let state = context.take_state();
    arms.push(Arm { state, values: [Word::Imm(1), start, payload].map(Abs::Int).to_vec() });
    Ok(arms)
}

fn read(context: &mut Context<'_>, at: i64, size: Size) -> Result<Word> {
    let words = context.known_header("tcp", parse)?;
    context.header_field(words[1], at, size, FIXED)
}

fn field(context: &mut Context<'_>, at: i64, size: Size) -> Result<Vec<Arm>> {
    let word = read(context, at, size)?;
    context.only(Abs::Int(word))
}

fn flag(context: &mut Context<'_>, number: i64) -> Result<Vec<Arm>> {
    let flags = read(context, 13, Size::B1)?;
    let flag = bit(context, flags, number);
    context.only(flag)
}
