//! `pkt.dns`: messages of DNS (RFC 1035 § 4.1) and multicast DNS (RFC 6762 § 18) in UDP datagrams, and their first question.

use super::header::{Field, Headers, Parsing, Protocol, Values, absent, nothing};
use super::messages::{self, Messages};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Iteration, Path, Word, WordPaths};
use moonhook_ir::{CompareOp, Size};

/// Bytes of a message's header.
pub const LENGTH: u32 = 12;

/// Bytes of a name in a message at most, the last length of 0 included (RFC 1035 § 2.3.4).
const LONGEST: i64 = 255;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "dns",
        |machine| machine.header_paths("dns", parse),
        vec![
            Field::new("id", |c| number(c, 0)),
            Field::new("flags", |c| number(c, 2)),
            Field::new("qr", |c| flag(c, 15)),
            Field::new("opcode", |c| part(c, 11)),
            Field::new("aa", |c| flag(c, 10)),
            Field::new("tc", |c| flag(c, 9)),
            Field::new("rd", |c| flag(c, 8)),
            Field::new("ra", |c| flag(c, 7)),
            Field::new("ad", |c| flag(c, 5)),
            Field::new("cd", |c| flag(c, 4)),
            Field::new("rcode", |c| part(c, 0)),
            Field::new("qdcount", |c| number(c, 4)),
            Field::new("ancount", |c| number(c, 6)),
            Field::new("nscount", |c| number(c, 8)),
            Field::new("arcount", |c| number(c, 10)),
            Field::new("qname", name).of_text(),
            Field::new("qtype", |c| behind_name(c, 0)),
            Field::new("qclass", |c| behind_name(c, 2)),
        ],
    )
}

/// Words: is it there, where it starts, where the datagram ends.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("dns", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    messages::parse(machine, Messages { ports: &[53, 5353], from: true, least: LENGTH })
}

fn word<M: Machine>(machine: &mut M, at: i64) -> Result<Word, M::Stop> {
    let words = machine.known_header("dns", parse)?;
    machine.header_field(words[1], at, Size::B2, LENGTH)
}

fn number<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let word = word(machine, at)?;
    machine.only(Value::Number(word))
}

fn flag<M: Machine>(machine: &mut M, bit: i64) -> Values<M> {
    let word = word(machine, 2)?;
    let flag = machine.bit(word, bit);
    machine.only(flag)
}

/// Four bits of the flags.
fn part<M: Machine>(machine: &mut M, bit: i64) -> Values<M> {
    let word = word(machine, 2)?;
    let part = machine.shr(word, bit);
    let part = machine.and(part, 15);
    machine.only(Value::Number(part))
}

/// Words: is there a question whose name is whole, where the name starts, its bytes without the last length, which is 0, where the
/// question's type starts.
pub fn question<M: Machine>(machine: &mut M) -> Parsing<M> {
    let words = machine.known_header("dns", parse)?;
    let (start, end) = (words[1], words[2]);
    let count = machine.header_field(start, 4, Size::B2, LENGTH)?;
    let none = machine.compare(CompareOp::Eq, count, 0);
    let (none, some) = machine.split(none);
    let mut paths: WordPaths<M> = absent([none]).collect();
    machine.resume(some);
    let first = machine.add(start, i64::from(LENGTH));
    let longest = machine.add(first, LONGEST);
    let end = machine.minimum(end, longest)?;
    let mut found = Vec::new();
    for path in walk_labels(machine, first, end)? {
        match path.values[..] {
            [_] => found.push(path),
            _ => paths.extend(absent([path.state])),
        }
    }
    if let Some(&[last]) = machine.meet(found)?.as_deref() {
        let length = machine.sub(last, first);
        let behind = machine.add(last, 1);
        paths.push(machine.take_path(vec![Word::Imm(1), first, length, behind]));
    }
    Ok(paths)
}

/// Walks over labels from `position`; paths that come to a length of 0 carry where it is, the others nothing. A length of 64 or more is
/// a pointer to elsewhere (RFC 1035 § 4.1.4).
fn walk_labels<M: Machine>(machine: &mut M, position: Word, end: Word) -> Parsing<M> {
    machine.iterate(&[position], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let position = variables[0];
        let mut missing = Vec::new();
        let over = machine.compare(CompareOp::SGe, position, end);
        machine.leave_if(over, &mut missing);
        let (address, outside) = machine.locate(position, 1)?;
        missing.extend(outside);
        let length = machine.load_at(address, Size::B1, false);
        let last = machine.compare_apart(CompareOp::Eq, length, 0);
        let (last, label) = machine.split(last);
        iteration.leave_in(last, vec![position]);
        machine.resume(label);
        let pointer = machine.compare_apart(CompareOp::UGt, length, 63);
        machine.leave_if(pointer, &mut missing);
        let next = machine.add(position, length);
        let next = machine.add(next, 1);
        iteration.again(machine, vec![next]);
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

fn name<M: Machine>(machine: &mut M) -> Values<M> {
    let (state, words, none) = machine.found("dns.question", question)?;
    let mut paths: ValuePaths<M> = nothing(none).collect();
    machine.resume(state);
    if machine.alive() {
        paths.push(machine.take_path(Value::Name { start: words[1], length: words[2] }));
    }
    Ok(paths)
}

/// 16 bits behind the question's name.
fn behind_name<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let (state, words, none) = machine.found("dns.question", question)?;
    let mut paths: ValuePaths<M> = nothing(none).collect();
    machine.resume(state);
    if !machine.alive() {
        return Ok(paths);
    }
    let end = machine.known_header("dns", parse)?[2];
    let place = machine.add(words[3], at);
    let last = machine.add(place, 2);
    let beyond = machine.compare(CompareOp::SGt, last, end);
    let (beyond, within) = machine.split(beyond);
    paths.extend(nothing([beyond]));
    machine.resume(within);
    let word = machine.header_field(place, 0, Size::B2, 2)?;
    paths.push(Path { state: machine.take_state(), values: Value::Number(word) });
    Ok(paths)
}
