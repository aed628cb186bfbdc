//! `dns.answer(pkt, {…})`: a question becomes its answer (RFC 1035 § 4.1), in the same packet.

use super::header::{Headers, RefusedBy};
use super::link::ETHERNET;
use super::network::{self, IPV4, IPV6, Part};
use super::{checksums, dns, payload, udp};
use crate::assign::{Assign, Header};
use crate::{Access, Machine, Value};
use moonhook_ir::words::{Path, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// What is answered.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The type of the record that the answer has, if that is what the question asks for: [`NO_RECORD`], [`A`] or [`AAAA`].
    pub kind: Word,
    /// The address in that record, in the second word if it has one only.
    pub address: [Word; 2],
    /// Seconds, 32 bits.
    pub ttl: Word,
    /// 4 bits.
    pub rcode: Word,
}

/// Bits of the flags that a question must not have: that it is an answer, and another operation than a query.
const NO_QUESTION: i64 = 0xf800;

/// Those that its answer has, too: recursion desired, checking disabled (RFC 4035 § 3.2.2); and its own: it is an answer, from who knows.
const KEPT: i64 = 0x0110;
const OWN: i64 = 0x8400;

/// The type and the class behind the question's name.
const BEHIND_NAME: i64 = 4;

/// The class of the internet.
const INTERNET: i64 = 1;

/// Types of addresses (RFC 1035 § 3.2.2, RFC 3596), and what no question asks for.
const A: i64 = 1;
const AAAA: i64 = 28;
const NO_RECORD: i64 = 1 << 16;

/// Bytes of records with them: pointer to the name, type, class, time, length, address (RFC 1035 § 4.1.3).
const BYTES_OF_A: i64 = 16;
const BYTES_OF_AAAA: i64 = 28;

impl Answer {
    /// The kind and the words of an address, or of none.
    pub fn record(address: Option<Value>) -> [Word; 3] {
        match address {
            Some(Value::Ipv4(word)) => [Word::Imm(A), Word::Imm(0), word],
            Some(Value::Ipv6(high, low)) => [Word::Imm(AAAA), high, low],
            _ => [Word::Imm(NO_RECORD), Word::Imm(0), Word::Imm(0)],
        }
    }
}

/// The pointer to the name of the first question.
const NAME: i64 = 0xc00c;

/// Hops that the answer may take.
const HOPS: i64 = 64;

/// Makes an answer of the packet, and goes on where it could. Where it asks no question the states go to `refused.absent`.
pub fn answer<M: Machine>(
    machine: &mut M,
    answer: &Answer,
    refused: &mut RefusedBy<M>,
) -> Result<(), M::Stop> {
    make_message(machine, answer, refused)?;
    if machine.alive() {
        turn_back(machine)?;
        checksums::fix(machine)?;
    }
    Ok(())
}

/// The first part of [`answer`]: makes an answer of the message.
pub fn make_message<M: Machine>(
    machine: &mut M,
    answer: &Answer,
    refused: &mut RefusedBy<M>,
) -> Result<(), M::Stop> {
    let Some([start, behind, flags]) = question(machine, refused)? else { return Ok(()) };
    let end = machine.add(behind, BEHIND_NAME);
    let bytes = record_bytes(machine, answer, behind)?;
    let length = machine.add(end, bytes);
    let length = machine.sub(length, start);
    payload::make_room(machine, Value::Number(length), refused)?;
    if !machine.alive() {
        return Ok(());
    }
    write_message(machine, (start, flags), answer, bytes)?;
    let has_record = machine.compare(CompareOp::Ne, bytes, 0);
    let (record, none) = machine.split(has_record);
    machine.resume(record);
    let mut done = vec![none];
    if machine.alive() {
        let six = machine.compare(CompareOp::Eq, answer.kind, AAAA);
        let (six, four) = machine.split(six);
        for (state, kind) in [(four, A), (six, AAAA)] {
            machine.resume(state);
            if machine.alive() {
                write_record(machine, end, kind, answer)?;
                done.push(machine.take_state());
            }
        }
    }
    machine.enter(done)?;
    machine.note_packet_written();
    Ok(())
}

/// Where the message starts, where the type of its question stands, and its flags.
fn question<M: Machine>(machine: &mut M, refused: &mut RefusedBy<M>) -> Result<Option<[Word; 3]>, M::Stop> {
    let (state, words, absent) = machine.found("dns", dns::parse)?;
    refused.absent.extend(absent);
    machine.resume(state);
    let &[_, start, end, ..] = words.as_slice() else { return Ok(None) };
    if !machine.alive() {
        return Ok(None);
    }
    let ip = machine.known_header("ip", network::parse)?;
    let more = machine.compare(CompareOp::Ne, ip[Part::MoreFragments as usize], 0);
    machine.leave_if(more, &mut refused.absent);
    let flags = machine.header_field(start, 2, Size::B2, dns::LENGTH)?;
    let other = machine.and(flags, NO_QUESTION);
    let other = machine.compare(CompareOp::Ne, other, 0);
    machine.leave_if(other, &mut refused.absent);
    let (state, words, absent) = machine.found("dns.question", dns::question)?;
    refused.absent.extend(absent);
    machine.resume(state);
    let &[_, _, _, behind] = words.as_slice() else { return Ok(None) };
    if !machine.alive() {
        return Ok(None);
    }
    let last = machine.add(behind, BEHIND_NAME);
    let beyond = machine.compare(CompareOp::SGt, last, end);
    machine.leave_if(beyond, &mut refused.absent);
    Ok(machine.alive().then_some([start, behind, flags]))
}

/// How many bytes the record takes: 0 where the question asks for something else.
fn record_bytes<M: Machine>(machine: &mut M, answer: &Answer, behind: Word) -> Result<Word, M::Stop> {
    if answer.kind == Word::Imm(NO_RECORD) {
        return Ok(Word::Imm(0));
    }
    let asked = machine.header_field(behind, 0, Size::B4, BEHIND_NAME as u32)?;
    let wanted = machine.shl(answer.kind, 16);
    let wanted = machine.add(wanted, INTERNET);
    let same = machine.compare(CompareOp::Eq, asked, wanted);
    let (same, other) = machine.split(same);
    machine.resume(same);
    let six = machine.compare(CompareOp::Eq, answer.kind, AAAA);
    let six = machine.condition_word(six);
    let more = machine.binary(BinaryOp::Mul, six, BYTES_OF_AAAA - BYTES_OF_A);
    let bytes = machine.add(more, BYTES_OF_A);
    let same = machine.take_state();
    machine.either(same, bytes, other, Word::Imm(0))
}

/// Writes parts one behind the other at `start`, each given as a number.
fn write<M: Machine>(machine: &mut M, start: Word, parts: &[(Word, Size)]) -> Result<(), M::Stop> {
    let whole = parts.iter().map(|(_, size)| *size as u32).sum();
    let address = machine.known_address(start, whole)?;
    let mut at = 0;
    for (word, size) in parts {
        let word = machine.host_order(*word, *size);
        let place = machine.add(start, i64::from(at));
        machine.write_word(address.plus(at), place, *size, word);
        at += *size as i16;
    }
    Ok(())
}

/// Flags and counts of the answer: one question, and a record if that has bytes.
fn write_message<M: Machine>(
    machine: &mut M,
    (start, flags): (Word, Word),
    answer: &Answer,
    bytes: Word,
) -> Result<(), M::Stop> {
    let kept = machine.and(flags, KEPT);
    let flags = machine.binary(BinaryOp::Or, kept, OWN);
    let flags = machine.binary(BinaryOp::Or, flags, answer.rcode);
    let has_record = machine.compare(CompareOp::Ne, bytes, 0);
    let count = machine.condition_word(has_record);
    let none = (Word::Imm(0), Size::B2);
    let at = machine.add(start, 2);
    write(machine, at, &[(flags, Size::B2), (Word::Imm(1), Size::B2), (count, Size::B2), none, none])
}

fn write_record<M: Machine>(machine: &mut M, start: Word, kind: i64, answer: &Answer) -> Result<(), M::Stop> {
    let two = |number: i64| (Word::Imm(number), Size::B2);
    let mut parts = vec![two(NAME), two(kind), two(INTERNET), (answer.ttl, Size::B4)];
    let [high, low] = answer.address;
    match kind {
        AAAA => parts.extend([two(16), (high, Size::B8), (low, Size::B8)]),
        _ => parts.extend([two(4), (low, Size::B4)]),
    }
    write(machine, start, &parts)
}

/// The second part of [`answer`], behind which checksums are to be computed anew: exchanges source and destination at each layer of a datagram.
pub fn turn_back<M: Machine>(machine: &mut M) -> Result<(), M::Stop> {
    let eth = Header { start: Word::Imm(0), whole: ETHERNET };
    let [target, source] =
        [machine.header_mac(eth.start, 0, ETHERNET)?, machine.header_mac(eth.start, 6, ETHERNET)?];
    machine.put_mac(eth, 0, source)?;
    machine.put_mac(eth, 6, target)?;
    let words = machine.known_header("ip", network::parse)?;
    let (start, next) = (words[Part::Start as usize], words[Part::Next as usize]);
    let mut done = Vec::new();
    for (state, version) in network::by_version(machine, &words) {
        machine.resume(state);
        if machine.alive() {
            let (whole, hops, places, size): (_, _, &[(i16, i16)], _) = match version {
                4 => (IPV4, 8, &[(12, 16)], Size::B4),
                _ => (IPV6, 7, &[(8, 24), (16, 32)], Size::B8),
            };
            exchange(machine, (start, whole), places, size)?;
            let address = machine.known_address(start, whole)?;
            let place = machine.add(start, i64::from(hops));
            machine.write_word(address.plus(hops), place, Size::B1, Word::Imm(HOPS));
            done.push(Path { state: machine.take_state(), values: vec![] });
        }
    }
    machine.meet(done)?;
    exchange(machine, (next, udp::LENGTH), &[(0, 2)], Size::B2)?;
    machine.note_packet_written();
    Ok(())
}

/// Exchanges words of a header.
fn exchange<M: Machine>(
    machine: &mut M,
    (start, whole): (Word, u32),
    places: &[(i16, i16)],
    size: Size,
) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let address = machine.known_address(start, whole)?;
    for &(one, other) in places {
        let words = [one, other].map(|at| machine.load_at(address.plus(at), size, false));
        for (at, word) in [(one, words[1]), (other, words[0])] {
            let place = machine.add(start, i64::from(at));
            machine.write_word(address.plus(at), place, size, word);
        }
    }
    Ok(())
}
