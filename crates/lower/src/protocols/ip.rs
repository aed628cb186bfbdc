//! `pkt.ip`: IPv4 and IPv6 alike.

use super::header::{Field, Protocol, bit};
use super::network::{self, IPV4, IPV6, Part};
use crate::context::{Context, Result};
use crate::value::{Abs, Str, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, Size};

/// Bytes of an IPv6 fragment header.
const FRAGMENT: u32 = 8;

pub const PROTOCOL: Protocol = Protocol {
    name: "ip",
    find: |context| context.header_arms("ip", network::parse),
    fields: &[
        Field { name: "version", read: |c| part(c, Part::Version) },
        Field { name: "proto", read: |c| part(c, Part::Protocol) },
        Field { name: "fragment_offset", read: |c| part(c, Part::FragmentOffset) },
        Field { name: "more_fragments", read: more_fragments },
        Field { name: "header_length", read: header_length },
        Field {
            name: "src",
            read: |c| by_version(c, |c, start| v4_address(c, start, 12), |c, start| v6_address(c, start, 8)),
        },
        Field {
            name: "dst",
            read: |c| by_version(c, |c, start| v4_address(c, start, 16), |c, start| v6_address(c, start, 24)),
        },
        Field {
            name: "tos",
            read: |c| {
                by_version(c, |c, start| v4(c, start, 1, Size::B1), |c, start| v6_bits(c, start, 20, 0xff))
            },
        },
        Field {
            name: "ttl",
            read: |c| {
                by_version(c, |c, start| v4(c, start, 8, Size::B1), |c, start| v6(c, start, 7, Size::B1))
            },
        },
        Field {
            name: "length",
            read: |c| {
                by_version(
                    c,
                    |c, start| Ok(Abs::Int(network::length(c, start, 4)?)),
                    |c, start| Ok(Abs::Int(network::length(c, start, 6)?)),
                )
            },
        },
        Field { name: "id", read: identification },
        Field {
            name: "dont_fragment",
            read: |c| {
                by_version(
                    c,
                    |c, start| {
                        let flags = c.header_field(start, 6, Size::B2, IPV4)?;
                        Ok(bit(c, flags, 14))
                    },
                    |_, _| Ok(Abs::Nil),
                )
            },
        },
        Field {
            name: "checksum",
            read: |c| by_version(c, |c, start| v4(c, start, 10, Size::B2), |_, _| Ok(Abs::Nil)),
        },
        Field {
            name: "flow",
            read: |c| by_version(c, |_, _| Ok(Abs::Nil), |c, start| v6_bits(c, start, 0, 0xf_ffff)),
        },
    ],
};

fn words(context: &mut Context<'_>) -> Result<Vec<Word>> {
    context.known_header("ip", network::parse)
}

fn part(context: &mut Context<'_>, part: Part) -> Result<Vec<Arm>> {
    let words = words(context)?;
    context.only(Abs::Int(words[part as usize]))
}

fn more_fragments(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let words = words(context)?;
    context.only(Abs::Bool(words[Part::MoreFragments as usize]))
}

fn header_length(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let words = words(context)?;
    let length = context.sub(words[Part::Next as usize], words[Part::Start as usize]);
    context.only(Abs::Int(length))
}

type Read = fn(&mut Context<'_>, Word) -> Result<Abs>;

/// One way for each version; each is given where the header starts.
fn by_version(context: &mut Context<'_>, v4: Read, v6: Read) -> Result<Vec<Arm>> {
    let words = words(context)?;
    let start = words[Part::Start as usize];
    let mut arms = Vec::new();
    for ((state, _), read) in network::by_version(context, &words).into_iter().zip([v4, v6]) {
        context.state = state;
        if context.state.alive() {
            let value = read(context, start)?;
            let state = context.take_state();
            arms.push(Arm { state, values: vec![value] });
        }
    }
    Ok(arms)
}

fn v4(context: &mut Context<'_>, start: Word, at: i64, size: Size) -> Result<Abs> {
    Ok(Abs::Int(context.header_field(start, at, size, IPV4)?))
}

fn v6(context: &mut Context<'_>, start: Word, at: i64, size: Size) -> Result<Abs> {
    Ok(Abs::Int(context.header_field(start, at, size, IPV6)?))
}

/// Bits of the header's first word.
fn v6_bits(context: &mut Context<'_>, start: Word, shift: i64, mask: i64) -> Result<Abs> {
    let word = context.header_field(start, 0, Size::B4, IPV6)?;
    let word = context.shr(word, shift);
    Ok(Abs::Int(context.and(word, mask)))
}

fn v4_address(context: &mut Context<'_>, start: Word, at: i64) -> Result<Abs> {
    Ok(Abs::Str(Str::Ipv4(context.header_field(start, at, Size::B4, IPV4)?)))
}

fn v6_address(context: &mut Context<'_>, start: Word, at: i64) -> Result<Abs> {
    let high = context.header_field(start, at, Size::B8, IPV6)?;
    let low = context.header_field(start, at + 8, Size::B8, IPV6)?;
    Ok(Abs::Str(Str::Ipv6(high, low)))
}

fn identification(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let words = words(context)?;
    let (start, fragment) = (words[Part::Start as usize], words[Part::FragmentHeader as usize]);
    let [(four, _), (six, _)] = network::by_version(context, &words);
    let mut arms = Vec::new();
    context.state = four;
    if context.state.alive() {
        let value = v4(context, start, 4, Size::B2)?;
        let state = context.take_state();
        arms.push(Arm { state, values: vec![value] });
    }
    context.state = six;
    let none = context.compare(CompareOp::Eq, fragment, 0);
    let (none, some) = context.split(none);
    arms.push(Arm { state: none, values: vec![Abs::Nil] });
    context.state = some;
    if context.state.alive() {
        let id = context.header_field(fragment, 4, Size::B4, FRAGMENT)?;
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Int(id)] });
    }
    Ok(arms)
}
