//! `pkt.payload`: what follows the transport header.

use super::header::{Headers, Parsing, Protocol, Values, absent, nothing};
use super::network;
use super::{icmp, tcp, udp};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Path, PathState, Word};
use moonhook_ir::{CompareOp, Size};

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::text("payload", payload)
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
        paths.push(of_udp(machine, words[1])?);
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
    let end = network::end(machine, &words)?;
    between(machine, start, end)
}

/// What follows a UDP header that is there, as the words of [`parse`]. UDP's own length field, if it is at least the header's length, bounds the payload too.
pub fn of_udp<M: Machine>(machine: &mut M, header: Word) -> Result<Path<M::State, Vec<Word>>, M::Stop> {
    let words = machine.known_header("ip", network::parse)?;
    let end = network::end(machine, &words)?;
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
