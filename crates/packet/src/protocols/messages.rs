//! Messages in UDP datagrams that are known by their ports.

use super::header::{Headers, Parsing, absent};
use super::{network, payload, udp};
use crate::Machine;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Word, WordPaths};

/// Which ports messages of a protocol have, and how long they are at least.
#[derive(Clone, Copy)]
pub struct Messages {
    pub ports: &'static [u16],
    /// The source port may be one of them, too.
    pub from: bool,
    pub least: u32,
}

/// Goes on where what is between these offsets is a message, and adds the other states to the list.
type Check<M> = fn(&mut M, Word, Word, &mut Vec<<M as Branches>::State>) -> Result<(), <M as Branches>::Stop>;

/// As [`parse`], of datagrams that are messages only if `check` says so.
pub fn parse_checked<M: Machine>(machine: &mut M, messages: Messages, check: Check<M>) -> Parsing<M> {
    let mut paths: WordPaths<M> = Vec::new();
    for path in parse(machine, messages)? {
        let &[_, start, end] = path.values.as_slice() else {
            paths.push(path);
            continue;
        };
        machine.resume(path.state);
        let mut others = Vec::new();
        check(machine, start, end, &mut others)?;
        paths.extend(absent(others));
        paths.push(machine.take_path(vec![Word::Imm(1), start, end]));
    }
    Ok(paths)
}

/// Words: is there a message, where it starts, where the datagram ends, as far as it can be read.
pub fn parse<M: Machine>(machine: &mut M, messages: Messages) -> Parsing<M> {
    let (state, words, others) = machine.found("udp", udp::parse)?;
    let mut paths: WordPaths<M> = absent(others).collect();
    machine.resume(state);
    if !machine.alive() {
        return Ok(paths);
    }
    let others = udp::only_ports(machine, words[1], messages.ports, messages.from)?;
    paths.extend(absent(others));
    let path = payload::of_udp(machine, words[1], network::end)?;
    machine.resume(path.state);
    if let [_, start, length] = path.values[..] {
        let short = machine.compare(CompareOp::SLt, length, i64::from(messages.least));
        let (short, whole) = machine.split(short);
        paths.extend(absent([short]));
        machine.resume(whole);
        let end = machine.add(start, length);
        paths.push(machine.take_path(vec![Word::Imm(1), start, end]));
    }
    Ok(paths)
}
