//! `pkt.mpls`: the top entry of an MPLS label stack behind the Ethernet header (RFC 3032 § 2.1).

use super::header::{Field, Headers, Parsing, Protocol, Values, absent};
use super::link;
use crate::{Access, Machine, Value};
use moonhook_ir::words::{Word, WordPaths};
use moonhook_ir::{CompareOp, Size};

/// Bytes of an entry.
const LENGTH: u32 = 4;

/// Ethertypes as they are loaded: unicast, and upstream-assigned labels (RFC 5332).
const ETHERTYPES: [i64; 2] = [0x8847_u16.swap_bytes() as i64, 0x8848_u16.swap_bytes() as i64];

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "mpls",
        |machine| machine.header_paths("mpls", parse),
        vec![
            Field::new("label", |c| part(c, 12, 20)),
            Field::new("tc", |c| part(c, 9, 3)),
            Field::new("bottom", |machine: &mut M| {
                let entry = entry(machine)?;
                let bottom = machine.bit(entry, 8);
                machine.only(bottom)
            }),
            Field::new("ttl", |c| part(c, 0, 8)),
        ],
    )
}

/// Words: is it there, where it starts.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (state, words, none) = machine.found("link", link::parse)?;
    let mut paths: WordPaths<M> = absent(none).collect();
    machine.resume(state);
    let &[_, ethertype, start] = words.as_slice() else { return Ok(paths) };
    let mut right = Vec::new();
    for known in ETHERTYPES {
        let is = machine.compare(CompareOp::Eq, ethertype, known);
        machine.leave_if(is, &mut right);
    }
    paths.extend(absent([machine.take_state()]));
    machine.enter(right)?;
    let (_, outside) = machine.locate(start, LENGTH)?;
    paths.extend(absent(outside));
    paths.push(machine.take_path(vec![Word::Imm(1), start]));
    Ok(paths)
}

fn entry<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    let start = machine.known_header("mpls", parse)?[1];
    machine.header_field(start, 0, Size::B4, LENGTH)
}

fn part<M: Machine>(machine: &mut M, shift: i64, bits: i64) -> Values<M> {
    let entry = entry(machine)?;
    let part = machine.shr(entry, shift);
    let part = machine.and(part, (1 << bits) - 1);
    machine.only(Value::Number(part))
}
