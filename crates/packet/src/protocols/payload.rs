//! `pkt.payload`: what follows the transport header.

use super::header::{Assignment, Headers, Parsing, Protocol, RefusedBy, Values, absent, nothing};
use super::network::{self, End, IPV4, IPV6, Part};
use super::{icmp, tcp, udp};
use crate::assign::{Takes, word_of};
use crate::lengths::ChangeLength;
use crate::{Access, Machine, READABLE, Value, ValuePaths};
use moonhook_ir::words::{Path, PathState, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

pub fn protocol<M: Machine>() -> Protocol<M> {
    let assignment = Assignment { takes: Takes::Text, write: make_room };
    Protocol { assignment: Some(assignment), ..Protocol::text("payload", payload) }
}

fn payload<M: Machine>(machine: &mut M) -> Values<M> {
    let (state, words, absent) = machine.found("payload", parse)?;
    machine.resume(state);
    let mut paths: ValuePaths<M> = nothing(absent).collect();
    if machine.alive() {
        paths.push(machine.take_path(Value::Bytes { start: words[1], length: words[2] }));
    }
    Ok(paths)
}

/// Words: is there a transport header, where its payload starts, how long it is.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    let (state, words, others) = machine.found("tcp", tcp::parse)?;
    machine.resume(state);
    if machine.alive() {
        paths.push(up_to_ip_end(machine, words[2])?);
    }
    machine.enter(others)?;
    let (state, words, others) = machine.found("udp", udp::parse)?;
    machine.resume(state);
    if machine.alive() {
        paths.push(of_udp(machine, words[1], network::whole_end)?);
    }
    machine.enter(others)?;
    let (state, words, others) = machine.found("icmp", icmp::parse)?;
    machine.resume(state);
    if machine.alive() {
        let start = machine.add(words[1], i64::from(icmp::LENGTH));
        paths.push(up_to_ip_end(machine, start)?);
    }
    paths.extend(absent(others));
    Ok(paths)
}

fn up_to_ip_end<M: Machine>(machine: &mut M, start: Word) -> Result<Path<M::State, Vec<Word>>, M::Stop> {
    let words = machine.known_header("ip", network::parse)?;
    let end = network::whole_end(machine, &words)?;
    between(machine, start, end)
}

/// What follows a UDP header that is there, up to where the IP packet ends, as the words of [`parse`]. UDP's own length field, if it is at least the
/// header's length, bounds the payload too.
pub fn of_udp<M: Machine>(
    machine: &mut M,
    header: Word,
    end: End<M>,
) -> Result<Path<M::State, Vec<Word>>, M::Stop> {
    let words = machine.known_header("ip", network::parse)?;
    let end = end(machine, &words)?;
    let length = machine.header_field(header, 4, Size::B2, udp::LENGTH)?;
    let stated = machine.compare(CompareOp::UGe, length, i64::from(udp::LENGTH));
    let (stated, unstated) = machine.split(stated);
    machine.resume(stated);
    let udp_end = machine.add(header, length);
    let nearer = machine.minimum(end, udp_end)?;
    let state = machine.take_state();
    let end = machine.either(state, nearer, unstated, end)?;
    let start = machine.add(header, i64::from(udp::LENGTH));
    between(machine, start, end)
}

/// The bytes from `start` to `end`; none if the end comes first.
fn between<M: Machine>(
    machine: &mut M,
    start: Word,
    end: Word,
) -> Result<Path<M::State, Vec<Word>>, M::Stop> {
    let length = machine.sub(end, start);
    let length = machine.maximum(length, Word::Imm(0))?;
    // Each path through the headers gives them other bounds; the verifier would walk what follows for each.
    let (start, length) = (machine.unknown(start), machine.unknown(length));
    Ok(machine.take_path(vec![Word::Imm(1), start, length]))
}

/// Where the payload of TCP or UDP starts; the frame's length without such a header. The low 16 bits.
pub fn payload_offset<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    let mut paths = Vec::new();
    let (state, words, others) = machine.found("tcp", tcp::parse)?;
    if state.alive() {
        paths.push(Path { state, values: vec![words[2]] });
    }
    machine.enter(others)?;
    let (state, words, others) = machine.found("udp", udp::parse)?;
    machine.resume(state);
    if machine.alive() {
        let start = machine.add(words[1], i64::from(udp::LENGTH));
        paths.push(machine.take_path(vec![start]));
    }
    machine.enter(others)?;
    if machine.alive() {
        let length = machine.packet_length();
        paths.push(machine.take_path(vec![length]));
    }
    machine.meet_word(paths)
}

/// Has the packet end behind a payload of so many bytes, of which it may have others now, and says so in its headers.
pub fn make_room<M: Machine>(
    machine: &mut M,
    value: Value,
    refused: &mut RefusedBy<M>,
) -> Result<(), M::Stop> {
    let Some(length) = word_of(value) else { return Ok(()) };
    let Some(Place { start, udp, ip, version }) = place(machine, refused)? else { return Ok(()) };
    let end = machine.add(start, length);
    let six = machine.compare(CompareOp::Eq, version, 6);
    let six = machine.condition_word(six);
    let uncounted = machine.binary(BinaryOp::Mul, six, i64::from(IPV6));
    let stated = machine.sub(end, ip);
    let stated = machine.sub(stated, uncounted);
    let unsaid = machine.compare(CompareOp::UGt, stated, 0xffff);
    machine.leave_if(unsaid, &mut refused.longer);
    let unreadable = machine.compare(CompareOp::UGt, end, READABLE);
    machine.leave_if(unreadable, &mut refused.longer);
    set_end(machine, end, refused)?;
    if machine.alive() {
        write_lengths(machine, (ip, version), stated)?;
        let udp_header = machine.compare(CompareOp::Ne, udp, 0);
        let (datagram, other) = machine.split(udp_header);
        machine.resume(datagram);
        if machine.alive() {
            let length = machine.sub(end, udp);
            write_length(machine, (udp, udp::LENGTH), 4, length)?;
        }
        let datagram = machine.take_state();
        machine.enter(vec![datagram, other])?;
        machine.note_packet_written();
    }
    Ok(())
}

/// Where a payload is that can be replaced.
struct Place {
    start: Word,
    /// The UDP header; 0 where the payload is another one's.
    udp: Word,
    /// The IP header, and its version.
    ip: Word,
    version: Word,
}

/// Bits of the function's result: `start` below, then the others. Functions that fail give 0.
const UDP: i64 = 16;
const IP: i64 = 32;
const VERSION: i64 = 48;
/// Its result where there is no such payload.
const ABSENT: i64 = 1;

/// The payload of a packet that is no fragment; where there is none, the states go to `refused`.
fn place<M: Machine>(machine: &mut M, refused: &mut RefusedBy<M>) -> Result<Option<Place>, M::Stop> {
    let packed = match machine.done_apart("payload_place", place_apart)? {
        Some(packed) => packed,
        None => packed_place(machine)?,
    };
    if !machine.alive() {
        return Ok(None);
    }
    let none = machine.compare(CompareOp::Eq, packed, ABSENT);
    machine.leave_if(none, &mut refused.absent);
    let part = |machine: &mut M, shift: i64, mask: i64| {
        let part = machine.shr(packed, shift);
        machine.and(part, mask)
    };
    Ok(machine.alive().then(|| Place {
        start: part(machine, 0, 0xffff),
        udp: part(machine, UDP, 0xffff),
        ip: part(machine, IP, 0xffff),
        version: part(machine, VERSION, 0xf),
    }))
}

fn place_apart<M: Machine>(machine: &mut M, _: &[Word]) -> Result<(), M::Stop> {
    let packed = packed_place(machine)?;
    machine.give(packed);
    Ok(())
}

fn packed_place<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    let mut absent = Vec::new();
    let mut paths = Vec::new();
    if let Some([start, udp]) = whole_header(machine, &mut absent)? {
        let words = machine.known_header("ip", network::parse)?;
        let mut packed = start;
        let parts = [(udp, UDP), (words[Part::Start as usize], IP), (words[Part::Version as usize], VERSION)];
        for (part, shift) in parts {
            let part = machine.shl(part, shift);
            packed = machine.binary(BinaryOp::Or, packed, part);
        }
        paths.push(machine.take_path(vec![packed]));
    }
    machine.enter(absent)?;
    if machine.alive() {
        paths.push(machine.take_path(vec![Word::Imm(ABSENT)]));
    }
    machine.meet_word(paths)
}

/// Where the payload starts, and the UDP header, if there is one (0 otherwise), of a packet that is no fragment.
fn whole_header<M: Machine>(
    machine: &mut M,
    absent: &mut Vec<M::State>,
) -> Result<Option<[Word; 2]>, M::Stop> {
    let mut paths = Vec::new();
    let (state, words, others) = machine.found("tcp", tcp::parse)?;
    machine.resume(state);
    if machine.alive() {
        paths.push(machine.take_path(vec![words[2], Word::Imm(0)]));
    }
    machine.enter(others)?;
    let (state, words, others) = machine.found("udp", udp::parse)?;
    machine.resume(state);
    if machine.alive() {
        let start = machine.add(words[1], i64::from(udp::LENGTH));
        paths.push(machine.take_path(vec![start, words[1]]));
    }
    machine.enter(others)?;
    let (state, words, others) = machine.found("icmp", icmp::parse)?;
    machine.resume(state);
    if machine.alive() {
        let start = machine.add(words[1], i64::from(icmp::LENGTH));
        paths.push(machine.take_path(vec![start, Word::Imm(0)]));
    }
    absent.extend(others);
    let Some(&[start, udp]) = machine.meet(paths)?.as_deref() else { return Ok(None) };
    let words = machine.known_header("ip", network::parse)?;
    let more = machine.compare(CompareOp::Ne, words[Part::MoreFragments as usize], 0);
    machine.leave_if(more, absent);
    Ok(machine.alive().then_some([start, udp]))
}

/// Makes the frame longer or shorter, so that it ends there.
fn set_end<M: Machine>(machine: &mut M, end: Word, refused: &mut RefusedBy<M>) -> Result<(), M::Stop> {
    let before = machine.packet_length();
    let by = machine.sub(end, before);
    let same = machine.compare(CompareOp::Eq, by, 0);
    let (same, other) = machine.split(same);
    machine.resume(other);
    let mut done = vec![same];
    let mut unmoved = Vec::new();
    if machine.alive() {
        machine.move_tail(by, &mut unmoved)?;
        done.push(machine.take_state());
    }
    machine.enter(unmoved)?;
    if machine.alive() {
        let shorter = machine.compare(CompareOp::SLt, by, 0);
        let (shorter, longer) = machine.split(shorter);
        refused.shorter.push(shorter);
        refused.longer.push(longer);
    }
    machine.enter(done)
}

/// Writes the length of the IP packet.
fn write_lengths<M: Machine>(
    machine: &mut M,
    (start, version): (Word, Word),
    length: Word,
) -> Result<(), M::Stop> {
    let four = machine.compare(CompareOp::Eq, version, 4);
    let (four, six) = machine.split(four);
    let mut done = Vec::new();
    for (state, whole, at) in [(four, IPV4, 2), (six, IPV6, 4)] {
        machine.resume(state);
        if machine.alive() {
            write_length(machine, (start, whole), at, length)?;
            done.push(machine.take_state());
        }
    }
    machine.enter(done)
}

/// Writes a length into a header that is in the frame.
fn write_length<M: Machine>(
    machine: &mut M,
    (start, whole): (Word, u32),
    at: i64,
    length: Word,
) -> Result<(), M::Stop> {
    let address = machine.known_address(start, whole)?.plus(at as i16);
    let length = machine.unary(UnaryOp::Swap16, length);
    let place = machine.add(start, at);
    machine.write_word(address, place, Size::B2, length);
    Ok(())
}
