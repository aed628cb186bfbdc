//! The records of a DNS message behind its questions (RFC 1035 § 4.1.3): answers, authorities, additional ones.

use super::dns;
use super::header::{Headers, Parsing, absent, nothing};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Iteration, Path, Word, WordPaths};
use moonhook_ir::{CompareOp, Size};

/// So many records of a section are shown at most, so that their names have room in a program's memory whatever a packet says.
pub const MOST_RECORDS: i64 = 32;

/// Bytes behind a question's name, and behind a record's: type, class, time to live, length of the data.
const BEHIND_QUESTION: i64 = 4;
const BEHIND_NAME: u32 = 10;

/// Types whose data is a name: NS, CNAME, PTR, DNAME (RFC 6672 § 2.1).
const OF_NAMES: i64 = 1 << 2 | 1 << 5 | 1 << 12 | 1 << 39;

/// The type whose data is a preference and a name.
const MX: i64 = 15;

/// A section of a message: its number among the four counts of the header, from 0, which the questions have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    Answers = 1,
    Authorities,
    Additionals,
}

/// A record that lies whole in the message. Places are offsets of the frame.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Where its own name starts.
    pub name: Word,
    pub kind: Word,
    pub class: Word,
    pub ttl: Word,
    pub data: Word,
    pub length: Word,
    /// What follows it, counted from the message's start.
    pub next: Word,
}

/// Words: is there a message in which one gets to the section, where that starts, counted from the message's start, and how many records
/// of it are shown.
pub fn section<M: Machine>(machine: &mut M, section: Section) -> Parsing<M> {
    let (state, words, none) = machine.found("dns", dns::parse)?;
    let mut paths: WordPaths<M> = absent(none).collect();
    machine.resume(state);
    let &[_, start, end, ..] = words.as_slice() else { return Ok(paths) };
    if !machine.alive() {
        return Ok(paths);
    }
    let mut counts = Vec::new();
    for number in 0..=section as i64 {
        counts.push(machine.header_field(start, 4 + 2 * number, Size::B2, dns::LENGTH)?);
    }
    let passed = counts[1..section as usize].iter().fold(Word::Imm(0), |all, count| machine.add(all, *count));
    let shown = machine.minimum(counts[section as usize], Word::Imm(MOST_RECORDS))?;
    let first = machine.add(start, i64::from(dns::LENGTH));
    let mut found = Vec::new();
    for path in pass_over(machine, [first, counts[0], passed], end)? {
        match path.values[..] {
            [_] => found.push(path),
            _ => paths.extend(absent([path.state])),
        }
    }
    if let Some(&[position]) = machine.meet(found)?.as_deref() {
        let position = machine.sub(position, start);
        paths.push(machine.take_path(vec![Word::Imm(1), position, shown]));
    }
    Ok(paths)
}

/// Passes over so many questions and records from a position on; paths that come to their end carry where that is, the others nothing.
fn pass_over<M: Machine>(machine: &mut M, items: [Word; 3], end: Word) -> Parsing<M> {
    machine.iterate(&items, &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let &[position, questions, records] = variables else { return Ok(iteration) };
        let mut missing = Vec::new();
        let left = machine.add(questions, records);
        let done = machine.compare_apart(CompareOp::Eq, left, 0);
        let (done, more) = machine.split(done);
        iteration.leave_in(done, vec![position]);
        machine.resume(more);
        if let Some(behind) = behind_name(machine, position, end, &mut missing)? {
            let question = machine.compare_apart(CompareOp::Ne, questions, 0);
            let (question, record) = machine.split(question);
            machine.resume(question);
            let next = machine.add(behind, BEHIND_QUESTION);
            let fewer = machine.sub(questions, 1);
            machine.leave_if_beyond(next, end, &mut missing);
            iteration.again(machine, vec![next, fewer, records]);
            machine.resume(record);
            if let Some([_, _, next]) = data(machine, behind, end, &mut missing)? {
                let fewer = machine.sub(records, 1);
                iteration.again(machine, vec![next, questions, fewer]);
            }
        }
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

/// Leaving where something ends too far on.
trait Ends: Access {
    fn leave_if_beyond(&mut self, place: Word, end: Word, missing: &mut Vec<Self::State>) {
        let beyond = self.compare_apart(CompareOp::SGt, place, end);
        self.leave_if(beyond, missing);
    }
}

impl<M: Machine> Ends for M {}

/// Where the name at a position ends, in the current state: behind a length of 0, or behind a pointer (RFC 1035 § 4.1.4).
fn behind_name<M: Machine>(
    machine: &mut M,
    position: Word,
    end: Word,
    missing: &mut Vec<M::State>,
) -> Result<Option<Word>, M::Stop> {
    if !machine.alive() {
        return Ok(None);
    }
    let exits = machine.iterate(&[position], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let position = variables[0];
        let mut missing = Vec::new();
        let next = machine.add(position, 1);
        machine.leave_if_beyond(next, end, &mut missing);
        let (address, outside) = machine.locate(position, 1)?;
        missing.extend(outside);
        let length = machine.load_at(address, Size::B1, false);
        let last = machine.compare_apart(CompareOp::Eq, length, 0);
        let (last, other) = machine.split(last);
        iteration.leave_in(last, vec![next]);
        machine.resume(other);
        let label = machine.compare_apart(CompareOp::ULe, length, 63);
        let (label, other) = machine.split(label);
        machine.resume(other);
        let wrong = machine.compare_apart(CompareOp::ULt, length, 0xc0);
        machine.leave_if(wrong, &mut missing);
        let behind = machine.add(position, 2);
        iteration.leave(machine, vec![behind]);
        machine.resume(label);
        let next = machine.add(next, length);
        iteration.again(machine, vec![next]);
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })?;
    let (found, others): (Vec<_>, Vec<_>) = exits.into_iter().partition(|path| !path.values.is_empty());
    missing.extend(others.into_iter().map(|path| path.state));
    Ok(machine.meet(found)?.and_then(|words| words.first().copied()))
}

/// Of a record whose name ends there: where its data starts, how long that is, and where it ends; goes on where it lies in the message.
fn data<M: Machine>(
    machine: &mut M,
    behind: Word,
    end: Word,
    missing: &mut Vec<M::State>,
) -> Result<Option<[Word; 3]>, M::Stop> {
    let start = machine.add(behind, i64::from(BEHIND_NAME));
    machine.leave_if_beyond(start, end, missing);
    if !machine.alive() {
        return Ok(None);
    }
    let (address, outside) = machine.locate(behind, BEHIND_NAME)?;
    missing.extend(outside);
    let length = machine.load_at(address.plus(8), Size::B2, false);
    let length = machine.host_order(length, Size::B2);
    let next = machine.add(start, length);
    machine.leave_if_beyond(next, end, missing);
    Ok(machine.alive().then_some([start, length, next]))
}

/// The record at a position that counts from the message's start. Where there is none that is whole, the states go to `missing`.
pub fn record<M: Machine>(
    machine: &mut M,
    position: Word,
    missing: &mut Vec<M::State>,
) -> Result<Option<Record>, M::Stop> {
    let (state, words, none) = machine.found("dns", dns::parse)?;
    missing.extend(none);
    machine.resume(state);
    let &[_, start, end, ..] = words.as_slice() else { return Ok(None) };
    let name = machine.add(start, position);
    let Some(behind) = behind_name(machine, name, end, missing)? else { return Ok(None) };
    let Some([data, length, next]) = data(machine, behind, end, missing)? else { return Ok(None) };
    let kind = machine.header_field(behind, 0, Size::B2, BEHIND_NAME)?;
    let class = machine.header_field(behind, 2, Size::B2, BEHIND_NAME)?;
    let ttl = machine.header_field(behind, 4, Size::B4, BEHIND_NAME)?;
    let next = machine.sub(next, start);
    Ok(Some(Record { name, kind, class, ttl, data, length, next }))
}

/// Where the message starts and ends, of a record that is known to be there.
pub fn message<M: Machine>(machine: &mut M) -> Result<[Word; 2], M::Stop> {
    let words = machine.known_header("dns", dns::parse)?;
    Ok([words[1], words[2]])
}

/// The address that a record of type A or AAAA (RFC 3596) has.
pub fn address<M: Machine>(machine: &mut M, record: &Record) -> Result<ValuePaths<M>, M::Stop> {
    let mut paths = ValuePaths::<M>::new();
    let mut others = Vec::new();
    for (kind, length) in [(1, 4), (28, 16)] {
        let is = machine.compare_apart(CompareOp::Eq, record.kind, kind);
        let (is, other) = machine.split(is);
        machine.resume(is);
        let wrong = machine.compare_apart(CompareOp::Ne, record.length, length);
        machine.leave_if(wrong, &mut others);
        if machine.alive() {
            let value = match length {
                4 => Value::Ipv4(machine.header_field(record.data, 0, Size::B4, 4)?),
                _ => Value::Ipv6(
                    machine.header_field(record.data, 0, Size::B8, 16)?,
                    machine.header_field(record.data, 8, Size::B8, 16)?,
                ),
            };
            paths.push(machine.take_path(value));
        }
        machine.resume(other);
    }
    others.push(machine.take_state());
    paths.extend(nothing(others));
    Ok(paths)
}

/// The number of 16 bits in front of the name of a mail server.
pub fn preference<M: Machine>(machine: &mut M, record: &Record) -> Result<ValuePaths<M>, M::Stop> {
    let mut others = Vec::new();
    leave_unless_mx(machine, record, &mut others);
    let mut paths = ValuePaths::<M>::new();
    if machine.alive() {
        let word = machine.header_field(record.data, 0, Size::B2, 3)?;
        paths.push(machine.take_path(Value::Number(word)));
    }
    paths.extend(nothing(others));
    Ok(paths)
}

fn leave_unless_mx<M: Machine>(machine: &mut M, record: &Record, others: &mut Vec<M::State>) {
    let other = machine.compare_apart(CompareOp::Ne, record.kind, MX);
    machine.leave_if(other, others);
    let short = machine.compare_apart(CompareOp::ULt, record.length, 3);
    machine.leave_if(short, others);
}

/// Where the name in a record's data starts, of the types that have one, and the states in which there is none.
pub fn target<M: Machine>(
    machine: &mut M,
    record: &Record,
    others: &mut Vec<M::State>,
) -> Result<Option<Word>, M::Stop> {
    let mut found = Vec::new();
    let high = machine.compare_apart(CompareOp::UGt, record.kind, 63);
    machine.leave_if(high, others);
    let types = machine.binary(moonhook_ir::BinaryOp::LShr, OF_NAMES, record.kind);
    let is_name = machine.and(types, 1);
    let is_name = machine.compare_apart(CompareOp::Ne, is_name, 0);
    let (name, other) = machine.split(is_name);
    machine.resume(name);
    let empty = machine.compare_apart(CompareOp::Eq, record.length, 0);
    machine.leave_if(empty, others);
    found.push(machine.take_path(vec![record.data]));
    machine.resume(other);
    leave_unless_mx(machine, record, others);
    let behind = machine.add(record.data, 2);
    found.push(Path { state: machine.take_state(), values: vec![behind] });
    Ok(machine.meet(found)?.and_then(|words| words.first().copied()))
}
