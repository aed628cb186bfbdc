//! The network layer: IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200 § 4).

use super::header::{Headers, Parsing, absent};
use super::{extensions, link};
use crate::{Access, Machine};
use moonhook_ir::words::{Branches, Path, Word, WordPaths};
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

/// Fixed header lengths in bytes.
pub const IPV4: u32 = 20;
pub const IPV6: u32 = 40;

/// Type and length of the Jumbo Payload option (RFC 2675 § 2).
const JUMBO_PAYLOAD: i64 = 0xc204;

pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (state, words, none) = machine.found("link", link::parse)?;
    let mut paths: WordPaths<M> = absent(none).collect();
    machine.resume(state);
    let (ethertype, start) = match words.as_slice() {
        [_, ethertype, start] => (*ethertype, *start),
        _ => return Ok(paths),
    };
    let v4 = machine.compare(CompareOp::Eq, ethertype, link::IPV4);
    let (v4, other) = machine.split(v4);
    machine.resume(other);
    let v6 = machine.compare(CompareOp::Eq, ethertype, link::IPV6);
    let (v6, other) = machine.split(v6);
    paths.extend(absent([other]));
    machine.resume(v4);
    ipv4(machine, start, &mut paths)?;
    machine.resume(v6);
    ipv6(machine, start, &mut paths)?;
    Ok(paths)
}

fn ipv4<M: Machine>(machine: &mut M, start: Word, paths: &mut WordPaths<M>) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let (header, outside) = machine.locate(start, IPV4)?;
    paths.extend(absent(outside));
    let first = machine.load_at(header, Size::B1, false);
    let plain = machine.compare(CompareOp::Eq, first, 0x45);
    let (plain, other) = machine.split(plain);
    let mut nexts = Vec::new();
    machine.resume(plain);
    let next = machine.add(start, i64::from(IPV4));
    nexts.push(machine.take_path(vec![next]));
    // With options: the header's length is in the low half of the first byte, in words of 4 bytes. Few packets have any.
    machine.resume(other);
    machine.make_cold();
    let version = machine.shr(first, 4);
    let wrong = machine.compare(CompareOp::Ne, version, 4);
    let (wrong, right) = machine.split(wrong);
    paths.extend(absent([wrong]));
    machine.resume(right);
    let words = machine.and(first, 15);
    let length = machine.shl(words, 2);
    let short = machine.compare(CompareOp::ULt, length, i64::from(IPV4));
    let (short, enough) = machine.split(short);
    paths.extend(absent([short]));
    machine.resume(enough);
    let next = machine.add(start, length);
    let (_, outside) = machine.locate(next, 0)?;
    paths.extend(absent(outside));
    nexts.push(machine.take_path(vec![next]));
    let Some(next) = machine.meet(nexts)?.and_then(|words| words.first().copied()) else {
        return Ok(());
    };
    let protocol = machine.load_at(header.plus(9), Size::B1, false);
    let fragment = machine.load_at(header.plus(6), Size::B2, false);
    let fragment = machine.host_order(fragment, Size::B2);
    let offset = machine.and(fragment, 0x1fff);
    let offset = machine.shl(offset, 3);
    let more = machine.shr(fragment, 13);
    let more = machine.and(more, 1);
    paths.push(machine.take_path(vec![Word::Imm(4), start, next, protocol, offset, more, Word::Imm(0)]));
    Ok(())
}

fn ipv6<M: Machine>(machine: &mut M, start: Word, paths: &mut WordPaths<M>) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let (header, outside) = machine.locate(start, IPV6)?;
    paths.extend(absent(outside));
    let first = machine.load_at(header, Size::B1, false);
    let version = machine.shr(first, 4);
    let wrong = machine.compare(CompareOp::Ne, version, 6);
    let (wrong, right) = machine.split(wrong);
    paths.extend(absent([wrong]));
    machine.resume(right);
    let protocol = machine.load_at(header.plus(6), Size::B1, false);
    let next = machine.add(start, i64::from(IPV6));
    let none = Word::Imm(0);
    let (suspect, plain) = extensions::split_suspects(machine, protocol);
    machine.resume(suspect);
    let (extended, other) = extensions::split_extension(machine, protocol);
    machine.enter(vec![plain, other])?;
    paths.push(machine.take_path(vec![Word::Imm(6), start, next, protocol, none, none, none]));
    machine.enter(extended)?;
    if machine.alive() {
        machine.make_cold();
        let extensions::Behind { next, protocol, flags, fragment } =
            extensions::pass_over(machine, next, protocol)?;
        let offset = machine.and(flags, 0xfff8);
        let more = machine.and(flags, 1);
        paths.push(machine.take_path(vec![Word::Imm(6), start, next, protocol, offset, more, fragment]));
    }
    Ok(())
}

/// How [`end`] and [`whole_end`] find the end of the IP packet of a header with these words.
pub type End<M> = fn(&mut M, &[Word]) -> Result<Word, <M as Branches>::Stop>;

/// Where the IP packet ends, as far as it can be read: who looks for a message in it finds what is at its start.
pub fn end<M: Machine>(machine: &mut M, words: &[Word]) -> Result<Word, M::Stop> {
    let end = stated_end(machine, words)?;
    let readable = machine.readable();
    machine.minimum(end, Word::Imm(readable))
}

/// Where the IP packet ends. An error where it cannot be read up to there.
pub fn whole_end<M: Machine>(machine: &mut M, words: &[Word]) -> Result<Word, M::Stop> {
    let end = stated_end(machine, words)?;
    machine.check_readable(end);
    Ok(end)
}

/// By its length field, but no further than the frame.
fn stated_end<M: Machine>(machine: &mut M, words: &[Word]) -> Result<Word, M::Stop> {
    let start = words[Part::Start as usize];
    let mut paths = Vec::new();
    for (state, version) in by_version(machine, words) {
        machine.resume(state);
        if !machine.alive() {
            continue;
        }
        let length = length(machine, start, version)?;
        let end = machine.add(start, length);
        paths.push(machine.take_path(vec![end]));
    }
    let end = machine.meet_word(paths)?;
    let frame = machine.packet_length();
    machine.minimum(end, frame)
}

/// Splits the current state by the version in its words.
pub fn by_version<M: Machine>(machine: &mut M, words: &[Word]) -> [(M::State, u32); 2] {
    let v4 = machine.compare(CompareOp::Eq, words[Part::Version as usize], 4);
    let (v4, v6) = machine.split(v4);
    [(v4, 4), (v6, 6)]
}

/// The packet's length as its header states it: all of it for IPv4, the payload and the fixed header for IPv6. Where the field is 0,
/// which few packets have and none that the wire carries, it is what [`unstated`] finds.
pub fn length<M: Machine>(machine: &mut M, start: Word, version: u32) -> Result<Word, M::Stop> {
    let (at, whole) = if version == 4 { (2, IPV4) } else { (4, IPV6) };
    let field = machine.header_field(start, at, Size::B2, whole)?;
    if machine.hook().is_of_wire() {
        return Ok(machine.add(field, uncounted(version)));
    }
    let none = machine.compare(CompareOp::Eq, field, 0);
    let (none, stated) = machine.split(none);
    machine.resume(none);
    machine.make_cold();
    let mut paths = if machine.alive() { unstated(machine, start, version)? } else { Vec::new() };
    machine.resume(stated);
    let length = machine.add(field, uncounted(version));
    paths.push(machine.take_path(vec![length]));
    machine.meet_word(paths)
}

/// Bytes of the header that its length field does not count.
fn uncounted(version: u32) -> i64 {
    if version == 4 { 0 } else { i64::from(IPV6) }
}

/// The length of a packet whose header has 0 in its place: that of the Jumbo Payload option (RFC 2675), or, where the frame has
/// more than the field could say, the rest of the frame, as the kernel hands on segments that it has put together (BIG TCP; `iph_totlen`
/// in include/linux/ip.h). Otherwise what 0 says.
fn unstated<M: Machine>(machine: &mut M, start: Word, version: u32) -> Result<WordPaths<M>, M::Stop> {
    let mut paths = Vec::new();
    if version == 6 {
        let (jumbo, others) = jumbo_payload(machine, start)?;
        paths.push(machine.take_path(vec![jumbo]));
        machine.enter(others)?;
    }
    if !machine.alive() {
        return Ok(paths);
    }
    let frame = machine.packet_length();
    let rest = machine.sub(frame, start);
    let long = machine.compare(CompareOp::SGt, rest, 0xffff + uncounted(version));
    let (long, other) = machine.split(long);
    paths.push(Path { state: long, values: vec![rest] });
    paths.push(Path { state: other, values: vec![Word::Imm(uncounted(version))] });
    Ok(paths)
}

/// Goes on where the first option of the first extension header, hop-by-hop options, is the Jumbo Payload option and says what the
/// field could not: the packet's length; and the other states.
fn jumbo_payload<M: Machine>(machine: &mut M, start: Word) -> Result<(Word, Vec<M::State>), M::Stop> {
    let (header, mut others) = machine.locate(start, IPV6 + 8)?;
    let next = machine.load_at(header.plus(6), Size::B1, false);
    let other = machine.compare(CompareOp::Ne, next, extensions::HOP_BY_HOP);
    machine.leave_if(other, &mut others);
    let option = machine.load_at(header.plus(IPV6 as i16 + 2), Size::B2, false);
    let option = machine.host_order(option, Size::B2);
    let other = machine.compare(CompareOp::Ne, option, JUMBO_PAYLOAD);
    machine.leave_if(other, &mut others);
    let length = machine.load_at(header.plus(IPV6 as i16 + 4), Size::B4, false);
    let length = machine.host_order(length, Size::B4);
    let wrong = machine.compare(CompareOp::ULe, length, 0xffff);
    machine.leave_if(wrong, &mut others);
    Ok((machine.add(length, i64::from(IPV6)), others))
}
