//! `pkt.arp`: address resolution for IPv4 over Ethernet (RFC 826).

use super::header::{Field, Headers, Parsing, Protocol, Values, absent};
use super::link;
use crate::assign::{Assign, Header, Place, Takes, word_of};
use crate::{Access, Machine, Value};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, Size};

/// Bytes of the packet.
const LENGTH: u32 = 28;

/// The ethertype as it is loaded.
const ETHERTYPE: i64 = 0x0806_u16.swap_bytes() as i64;

/// How the packet begins, as it is loaded: hardware type 1, protocol type 0x0800; then lengths of 6 and 4.
const TYPES: i64 = 0x0001_0800_u32.swap_bytes() as i64;
const LENGTHS: i64 = 0x0604_u16.swap_bytes() as i64;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "arp",
        |machine| machine.header_paths("arp", parse),
        vec![
            Field::new("op", |machine: &mut M| {
                let word = word(machine, 6, Size::B2)?;
                machine.only(Value::Number(word))
            })
            .assigned(Takes::Number(16), |c, value, _| write(c, 6, Size::B2, value)),
            Field::new("sender_mac", |c| mac(c, 8))
                .assigned(Takes::Mac, |c, value, _| write_mac(c, 8, value)),
            Field::new("sender", |c| address(c, 14))
                .assigned(Takes::Ipv4, |c, value, _| write(c, 14, Size::B4, value)),
            Field::new("target_mac", |c| mac(c, 18))
                .assigned(Takes::Mac, |c, value, _| write_mac(c, 18, value)),
            Field::new("target", |c| address(c, 24))
                .assigned(Takes::Ipv4, |c, value, _| write(c, 24, Size::B4, value)),
        ],
    )
}

/// Words: is it there, where it starts.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (state, words, none) = machine.found("link", link::parse)?;
    let mut paths: Vec<_> = absent(none).collect();
    machine.resume(state);
    let &[_, ethertype, start] = words.as_slice() else { return Ok(paths) };
    let other = machine.compare(CompareOp::Ne, ethertype, ETHERTYPE);
    let (other, arp) = machine.split(other);
    paths.extend(absent([other]));
    machine.resume(arp);
    let (address, outside) = machine.locate(start, LENGTH)?;
    paths.extend(absent(outside));
    for (at, size, expected) in [(0, Size::B4, TYPES), (4, Size::B2, LENGTHS)] {
        let found = machine.load_at(address.plus(at), size, false);
        let other = machine.compare(CompareOp::Ne, found, expected);
        let (other, same) = machine.split(other);
        paths.extend(absent([other]));
        machine.resume(same);
    }
    paths.push(machine.take_path(vec![Word::Imm(1), start]));
    Ok(paths)
}

fn start<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    Ok(machine.known_header("arp", parse)?[1])
}

fn word<M: Machine>(machine: &mut M, at: i64, size: Size) -> Result<Word, M::Stop> {
    let start = start(machine)?;
    machine.header_field(start, at, size, LENGTH)
}

fn address<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let word = word(machine, at, Size::B4)?;
    machine.only(Value::Ipv4(word))
}

fn mac<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let start = start(machine)?;
    let word = machine.header_mac(start, at, LENGTH)?;
    machine.only(Value::Mac(word))
}

fn write<M: Machine>(machine: &mut M, at: i64, size: Size, value: Value) -> Result<(), M::Stop> {
    let start = start(machine)?;
    if let Some(word) = word_of(value) {
        machine.put(Header { start, whole: LENGTH }, Place::word(at, size), word)?;
    }
    Ok(())
}

fn write_mac<M: Machine>(machine: &mut M, at: i64, value: Value) -> Result<(), M::Stop> {
    let start = start(machine)?;
    if let Some(word) = word_of(value) {
        machine.put_mac(Header { start, whole: LENGTH }, at, word)?;
    }
    Ok(())
}
