//! The network layer: IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200 § 4).

use super::{absent, link};
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::loops::Iteration;
use crate::memory::MAX_FRAME;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir::{CompareOp, Size};

/// The words of the walk `ip`.
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
    /// IPv6: of the fragment header, -1 without one.
    Identification,
}

const PARTS: usize = 7;

/// Fixed header lengths in bytes.
pub const IPV4: u32 = 20;
pub const IPV6: u32 = 40;

/// The most extension headers that are passed over.
const MAX_EXTENSIONS: i64 = 8;

/// A mask that no place behind the extension headers exceeds: eight of at most 2,048 bytes after the fixed headers. Said to
/// the verifier so, the place needs no further checks.
const FURTHEST: i64 = 0x7fff;

pub fn walk(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let (state, words, none) = context.found("link", link::walk)?;
    let mut arms: Vec<Arm> = absent(none).collect();
    context.state = state;
    let (ethertype, start) = match words.as_slice() {
        [_, ethertype, start] => (*ethertype, *start),
        _ => return Ok(arms),
    };
    let v4 = context.compare(CompareOp::Eq, ethertype, i64::from(0x0800_u16.swap_bytes()));
    let (v4, other) = context.split(v4);
    context.state = other;
    let v6 = context.compare(CompareOp::Eq, ethertype, i64::from(0x86dd_u16.swap_bytes()));
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
    // With options: the header's length is in the low half of the first byte, in words of 4 bytes.
    context.state = other;
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
    arms.push(arm(state, [Word::Imm(4), start, next, protocol, offset, more, Word::Imm(-1)]));
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
    let (extended, plain) = split_extension(context, protocol);
    let no_fragment = [Word::Imm(0), Word::Imm(0), Word::Imm(-1)];
    let [offset, more, id] = no_fragment;
    let mut ways = vec![arm(plain, [Word::Imm(6), start, next, protocol, offset, more, id])];
    context.enter(extended)?;
    for way in extensions(context, next, protocol)? {
        let mut words = vec![Abs::int(6), Abs::Int(start)];
        words.extend(way.values);
        context.state = way.state;
        if let Abs::Int(next) = words[Part::Next as usize] {
            words[Part::Next as usize] = Abs::Int(context.and(next, FURTHEST));
        }
        ways.push(Arm { state: context.take_state(), values: words });
    }
    arms.extend(ways);
    Ok(())
}

/// The extension headers that are passed over: hop-by-hop 0, routing 43, fragment 44, authentication 51, destination
/// options 60, mobility 135.
fn split_extension(context: &mut Context<'_>, protocol: Word) -> (Vec<State>, State) {
    let mut extended = Vec::new();
    for number in [0, 43, 44, 51, 60, 135] {
        let is = context.compare(CompareOp::Eq, protocol, number);
        let (is, other) = context.split(is);
        extended.push(is);
        context.state = other;
    }
    (extended, context.take_state())
}

/// Passes over extension headers; each way carries next, protocol, fragment offset, more fragments, identification.
fn extensions(context: &mut Context<'_>, next: Word, protocol: Word) -> Result<Vec<Arm>> {
    let initial = [next, protocol, Word::Imm(0), Word::Imm(-1), Word::Imm(MAX_EXTENSIONS)];
    context.repeat(&initial, &mut |context, variables| {
        let mut iteration = Iteration::default();
        let [next, protocol, more, id, left] = *variables else { return Ok(iteration) };
        let end = |offset: Word, next: Word, protocol: Word, more: Word, id: Word| {
            [next, protocol, offset, more, id].map(Abs::Int).to_vec()
        };
        let stopped = end(Word::Imm(0), next, protocol, more, id);
        let done = context.compare(CompareOp::SLe, left, 0);
        let (done, going) = context.split(done);
        iteration.leave_in(done, stopped.clone());
        context.state = going;
        let (extended, plain) = split_extension(context, protocol);
        iteration.leave_in(plain, stopped.clone());
        context.enter(extended)?;
        let (header, outside) = context.locate(next, 8);
        outside.into_iter().for_each(|state| iteration.leave_in(state, stopped.clone()));
        let length = extension_length(context, protocol, header)?;
        let after = context.add(next, length);
        let (_, outside) = context.locate(after, 0);
        outside.into_iter().for_each(|state| iteration.leave_in(state, stopped.clone()));
        let following = context.load_at(header, Size::B1, false);
        let left = context.sub(left, 1);
        let fragment = context.compare(CompareOp::Eq, protocol, 44);
        let (fragment, other) = context.split(fragment);
        context.state = other;
        iteration.again(context, vec![after, following, more, id, left]);
        context.state = fragment;
        let flags = context.load_at(header.plus(2), Size::B2, false);
        let flags = context.host_order(flags, Size::B2);
        let offset = context.and(flags, 0xfff8);
        let more = context.and(flags, 1);
        let id = context.load_at(header.plus(4), Size::B4, false);
        let id = context.host_order(id, Size::B4);
        let later = context.compare(CompareOp::Ne, offset, 0);
        let (later, first) = context.split(later);
        iteration.leave_in(later, end(offset, after, following, more, id));
        context.state = first;
        iteration.again(context, vec![after, following, more, id, left]);
        Ok(iteration)
    })
}

/// Bytes of an extension header: (n + 1) × 8; authentication (n + 2) × 4; fragment 8.
fn extension_length(
    context: &mut Context<'_>,
    protocol: Word,
    header: crate::memory::Address,
) -> Result<Word> {
    let stated = context.load_at(header.plus(1), Size::B1, false);
    let mut arms = Vec::new();
    let fragment = context.compare(CompareOp::Eq, protocol, 44);
    let (fragment, other) = context.split(fragment);
    arms.push(Arm { state: fragment, values: vec![Abs::int(8)] });
    context.state = other;
    let authentication = context.compare(CompareOp::Eq, protocol, 51);
    let (authentication, other) = context.split(authentication);
    context.state = authentication;
    let length = context.add(stated, 2);
    let length = context.shl(length, 2);
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Int(length)] });
    context.state = other;
    let length = context.add(stated, 1);
    let length = context.shl(length, 3);
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Int(length)] });
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(length)]) => *length,
        _ => Word::Imm(8),
    })
}

/// Where the IP packet ends: by its length field, but no further than the frame.
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
    Ok(if context.range(end).within(0, MAX_FRAME) { end } else { context.and(end, MAX_FRAME) })
}

/// Splits the current state by the version in the walk's words.
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
