//! The network layer: IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200 § 4).

use super::header::absent;
use super::{extensions, link};
use crate::context::{Context, Result};
use crate::state::State;
use crate::value::{Abs, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, Size};

/// The words of the header `ip`.
#[derive(Clone, Copy)]
pub enum Part {
    /// 4, 6, or 0 where there is no IP header.
    Version,
    /// Where the header starts.
    Start,
    /// Where what follows the header (and its extensions) starts.
    Next,
    /// What that is.
    Protocol,
    /// In bytes.
    FragmentOffset,
    /// 0 or 1.
    MoreFragments,
    /// IPv6: where the last fragment header starts, 0 without one.
    FragmentHeader,
}

const PARTS: usize = 7;

/// Fixed header lengths in bytes.
pub const IPV4: u32 = 20;
pub const IPV6: u32 = 40;

pub fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let (state, words, none) = context.found("link", link::parse)?;
    let mut arms: Vec<Arm> = absent(none).collect();
    context.state = state;
    let (ethertype, start) = match words.as_slice() {
        [_, ethertype, start] => (*ethertype, *start),
        _ => return Ok(arms),
    };
    let v4 = context.compare(CompareOp::Eq, ethertype, link::IPV4);
    let (v4, other) = context.split(v4);
    context.state = other;
    let v6 = context.compare(CompareOp::Eq, ethertype, link::IPV6);
    let (v6, other) = context.split(v6);
    arms.extend(absent([other]));
    context.state = v4;
    ipv4(context, start, &mut arms)?;
    context.state = v6;
    ipv6(context, start, &mut arms)?;
    Ok(arms)
}

fn arm(state: State, words: [Word; PARTS]) -> Arm {
    Arm { state, values: words.map(Abs::Int).to_vec() }
}

fn ipv4(context: &mut Context<'_>, start: Word, arms: &mut Vec<Arm>) -> Result<()> {
    if !context.state.alive() {
        return Ok(());
    }
    let (header, outside) = context.locate(start, IPV4);
    arms.extend(absent(outside));
    let first = context.load_at(header, Size::B1, false);
    let plain = context.compare(CompareOp::Eq, first, 0x45);
    let (plain, other) = context.split(plain);
    let mut ways = Vec::new();
    context.state = plain;
    let next = context.add(start, i64::from(IPV4));
    let state = context.take_state();
    ways.push(Arm { state, values: vec![Abs::Int(next)] });
    // With options: the header's length is in the low half of the first byte, in words of 4 bytes. Few packets have any.
    context.state = other;
    if let Some(block) = context.state.block {
        context.code.function.block_mut(block).cold = true;
    }
    let version = context.shr(first, 4);
    let wrong = context.compare(CompareOp::Ne, version, 4);
    let (wrong, right) = context.split(wrong);
    arms.extend(absent([wrong]));
    context.state = right;
    let words = context.and(first, 15);
    let length = context.shl(words, 2);
    let short = context.compare(CompareOp::ULt, length, i64::from(IPV4));
    let (short, enough) = context.split(short);
    arms.extend(absent([short]));
    context.state = enough;
    let next = context.add(start, length);
    let (_, outside) = context.locate(next, 0);
    arms.extend(absent(outside));
    let state = context.take_state();
    ways.push(Arm { state, values: vec![Abs::Int(next)] });
    let Some([Abs::Int(next)]) = context.join(ways)?.as_deref().map(|values| [values[0].clone()]) else {
        return Ok(());
    };
    let protocol = context.load_at(header.plus(9), Size::B1, false);
    let fragment = context.load_at(header.plus(6), Size::B2, false);
    let fragment = context.host_order(fragment, Size::B2);
    let offset = context.and(fragment, 0x1fff);
    let offset = context.shl(offset, 3);
    let more = context.shr(fragment, 13);
    let more = context.and(more, 1);
    let state = context.take_state();
    arms.push(arm(state, [Word::Imm(4), start, next, protocol, offset, more, Word::Imm(0)]));
    Ok(())
}

fn ipv6(context: &mut Context<'_>, start: Word, arms: &mut Vec<Arm>) -> Result<()> {
    if !context.state.alive() {
        return Ok(());
    }
    let (header, outside) = context.locate(start, IPV6);
    arms.extend(absent(outside));
    let first = context.load_at(header, Size::B1, false);
    let version = context.shr(first, 4);
    let wrong = context.compare(CompareOp::Ne, version, 6);
    let (wrong, right) = context.split(wrong);
    arms.extend(absent([wrong]));
    context.state = right;
    let protocol = context.load_at(header.plus(6), Size::B1, false);
    let next = context.add(start, i64::from(IPV6));
    let none = Word::Imm(0);
    let (suspect, plain) = extensions::split_suspects(context, protocol);
    context.state = suspect;
    let (extended, other) = extensions::split_extension(context, protocol);
    context.enter(vec![plain, other])?;
    let plain = context.take_state();
    arms.push(arm(plain, [Word::Imm(6), start, next, protocol, none, none, none]));
    context.enter(extended)?;
    if let Some(block) = context.state.block {
        context.code.function.block_mut(block).cold = true;
        let extensions::Behind { next, protocol, flags, fragment } =
            extensions::pass_over(context, next, protocol)?;
        let offset = context.and(flags, 0xfff8);
        let more = context.and(flags, 1);
        let state = context.take_state();
        arms.push(arm(state, [Word::Imm(6), start, next, protocol, offset, more, fragment]));
    }
    Ok(())
}

/// Where the IP packet ends: by its length field, but no further than the frame. An error where it cannot be read up to there.
pub fn end(context: &mut Context<'_>, words: &[Word]) -> Result<Word> {
    let start = words[Part::Start as usize];
    let mut arms = Vec::new();
    for (state, version) in by_version(context, words) {
        context.state = state;
        if !context.state.alive() {
            continue;
        }
        let length = length(context, start, version)?;
        let end = context.add(start, length);
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Int(end)] });
    }
    let end = match context.join(arms)?.as_deref() {
        Some([Abs::Int(end)]) => *end,
        _ => Word::Imm(0),
    };
    let frame = context.packet_length();
    let end = context.minimum(end, frame)?;
    context.check_readable(end);
    Ok(end)
}

/// Splits the current state by the version in its words.
pub fn by_version(context: &mut Context<'_>, words: &[Word]) -> [(State, u32); 2] {
    let v4 = context.compare(CompareOp::Eq, words[Part::Version as usize], 4);
    let (v4, v6) = context.split(v4);
    [(v4, 4), (v6, 6)]
}

/// The packet's length as its header states it: all of it for IPv4, the payload and the fixed header for IPv6.
pub fn length(context: &mut Context<'_>, start: Word, version: u32) -> Result<Word> {
    if version == 4 {
        return context.header_field(start, 2, Size::B2, IPV4);
    }
    let payload = context.header_field(start, 4, Size::B2, IPV6)?;
    Ok(context.add(payload, i64::from(IPV6)))
}
