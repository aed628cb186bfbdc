//! What is put into another packet.

use super::super::header::Headers;
use super::super::network::{self, IPV4, IPV6, Part};
use super::{Carrier, ETHERNET, Failed, VERSIONS, flow};
use crate::{Access, Machine};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, Size};

/// What is known of it.
pub struct Inner {
    /// Where the new headers go to.
    pub start: Word,
    /// Traffic class; 0 where there is none.
    pub class: Word,
    /// Bytes, as its header states them; of a frame, those that there are.
    pub length: Word,
    /// The numbers that say, as a protocol and as the type of a link's header, which version it has.
    pub protocol: Word,
    pub kind: Word,
    /// [`flow::port`], if the carrier asks for it.
    pub flow: Word,
}

/// What is put behind an IP header of so many bytes and the carrier's.
pub fn look<M: Machine>(
    machine: &mut M,
    (header, carrier): (u32, &Carrier),
    failed: &mut Failed<M::State>,
) -> Result<Option<Inner>, M::Stop> {
    let (state, words, absent) = machine.found("ip", network::parse)?;
    let mut paths = Vec::new();
    if carrier.takes_frames() {
        machine.enter(absent)?;
        if machine.alive() {
            let values = [Word::Imm(0), Word::Imm(0), Word::Imm(0), Word::Imm(0), Word::Imm(flow::LEAST)];
            paths.push(machine.take_path(values.to_vec()));
        }
    } else {
        failed.none.extend(absent);
    }
    machine.resume(state);
    if machine.alive() {
        let flow = match carrier.asks_for_flow() {
            true => flow::port(machine, &words)?,
            false => Word::Imm(0),
        };
        let start = words[Part::Start as usize];
        for ((state, version), (protocol, kind, _)) in
            network::by_version(machine, &words).into_iter().zip(VERSIONS)
        {
            machine.resume(state);
            if machine.alive() {
                let length = length(machine, (start, version), carrier, failed)?;
                let class = class(machine, start, version)?;
                let values = vec![class, length, Word::Imm(protocol), Word::Imm(kind), flow];
                paths.push(machine.take_path(values));
            }
        }
    }
    let [class, length, protocol, kind, flow] = match machine.meet(paths)?.as_deref() {
        Some(&[class, length, protocol, kind, flow]) => [class, length, protocol, kind, flow],
        _ => return Ok(None),
    };
    let (start, length) = match carrier.takes_frames() {
        true => (Word::Imm(ETHERNET.into()), machine.packet_length()),
        false => (words[Part::Start as usize], length),
    };
    // IPv6 does not count its fixed header.
    let counted = if header == IPV4 { header } else { 0 } + carrier.bytes();
    let long = machine.compare(CompareOp::UGt, length, 0xffff - i64::from(counted));
    machine.leave_if(long, &mut failed.refused);
    Ok(Some(Inner { start, class, length, protocol, kind, flow }))
}

/// The length of an IP packet; leaves where its header does not say it.
fn length<M: Machine>(
    machine: &mut M,
    (start, version): (Word, u32),
    carrier: &Carrier,
    failed: &mut Failed<M::State>,
) -> Result<Word, M::Stop> {
    if carrier.takes_frames() {
        return Ok(Word::Imm(0));
    }
    let length = network::length(machine, start, version)?;
    if version == 6 {
        // What is longer than its header can say (RFC 2675), or is nothing.
        let unsaid = machine.compare(CompareOp::Eq, length, i64::from(IPV6));
        machine.leave_if(unsaid, &mut failed.refused);
    }
    Ok(length)
}

fn class<M: Machine>(machine: &mut M, start: Word, version: u32) -> Result<Word, M::Stop> {
    if version == 4 {
        return machine.header_field(start, 1, Size::B1, IPV4);
    }
    let word = machine.header_field(start, 0, Size::B4, IPV6)?;
    let word = machine.shr(word, 20);
    Ok(machine.and(word, 0xff))
}
