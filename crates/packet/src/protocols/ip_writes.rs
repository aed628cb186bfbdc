//! Assigning fields of `pkt.ip`.

use super::header::{Headers, RefusedBy};
use super::network::{self, IPV4, IPV6, Part};
use super::transport::Parser;
use super::{icmp, tcp, udp};
use crate::assign::{Assign, Change, Covered, Header, Place, Sum, word_of};
use crate::{ChangedSum, Machine, PacketState, Value};
use moonhook_ir::Size;
use moonhook_ir::words::Word;

/// The checksum of an IPv4 header (RFC 791 § 3.1).
pub const SUM: Sum = Sum { at: 10, may_be_none: false };

/// Assigns bits of the header, which IPv4 and IPv6 have in these places, or do not have.
pub fn bits<M: Machine>(
    machine: &mut M,
    value: Value,
    refused: &mut RefusedBy<M>,
    places: [Option<Place>; 2],
) -> Result<(), M::Stop> {
    by_version(machine, |machine, start, version| {
        match (places[usize::from(version == 6)], word_of(value)) {
            (Some(place), Some(word)) => {
                let change = machine.put(header(start, version), place, word)?;
                if version == 4 && place.at != SUM.at {
                    return Ok(vec![machine.fix(header(start, version), SUM, change)?]);
                }
            }
            _ => refused.absent.push(machine.take_state()),
        }
        Ok(Vec::new())
    })
}

/// Assigns an address, which stands in these places under IPv4 and IPv6. The checksums of TCP, UDP and ICMPv6 cover it as well.
pub fn address<M: Machine>(
    machine: &mut M,
    value: Value,
    refused: &mut RefusedBy<M>,
    places: [i64; 2],
) -> Result<(), M::Stop> {
    by_version(machine, |machine, start, version| {
        let (header, at) = (header(start, version), places[usize::from(version == 6)]);
        let mut sums = Vec::new();
        let change = match (version, value) {
            (4, Value::Ipv4(address)) => {
                let change = machine.put(header, Place::word(at, Size::B4), address)?;
                sums.push(machine.fix(header, SUM, change)?);
                change
            }
            (6, Value::Ipv6(high, low)) => {
                let high = machine.put(header, Place::word(at, Size::B8), high)?;
                let low = machine.put(header, Place::word(at + 8, Size::B8), low)?;
                machine.both(high, low)
            }
            _ => {
                refused.unfit.push(machine.take_state());
                return Ok(sums);
            }
        };
        sums.extend(addresses_changed(machine, version, change)?);
        Ok(sums)
    })
}

fn header(start: Word, version: u32) -> Header {
    Header { start, whole: if version == 4 { IPV4 } else { IPV6 } }
}

/// Has a field written under each version, and goes on where it was, with the checksums that it has changed.
fn by_version<M: Machine>(
    machine: &mut M,
    mut write: impl FnMut(&mut M, Word, u32) -> Result<Vec<ChangedSum>, M::Stop>,
) -> Result<(), M::Stop> {
    let words = machine.known_header("ip", network::parse)?;
    let start = words[Part::Start as usize];
    let mut done = Vec::new();
    for (state, version) in network::by_version(machine, &words) {
        machine.resume(state);
        let sums = if machine.alive() { write(machine, start, version)? } else { Vec::new() };
        if machine.alive() {
            done.push((machine.take_state(), sums));
        }
    }
    machine.enter_with_sums(done)
}

/// Changes the checksum of the transport header, if there is one that covers the addresses of IP, after a change of those. Gives the checksums
/// of the headers that there can be.
fn addresses_changed<M: Machine>(
    machine: &mut M,
    version: u32,
    change: Change,
) -> Result<Vec<ChangedSum>, M::Stop> {
    let covered = Covered::Addresses(version);
    let mut done = Vec::new();
    let headers: [(Parser<M>, u32, Sum); 3] = [
        (("tcp", tcp::parse), tcp::FIXED, tcp::SUM),
        (("udp", udp::parse), udp::LENGTH, udp::SUM),
        (("icmp", icmp::parse), icmp::LENGTH, icmp::SUM),
    ];
    for ((name, parse), whole, sum) in headers {
        if !machine.alive() || (name == "icmp" && version == 4) {
            continue;
        }
        let (state, words, others) = machine.found(name, parse)?;
        machine.resume(state);
        if machine.alive() {
            let sum = machine.fix_transport(Header { start: words[1], whole }, sum, covered, change)?;
            done.push((machine.take_state(), Vec::from_iter(sum)));
        }
        machine.enter(others)?;
    }
    if machine.alive() {
        done.push((machine.take_state(), Vec::new()));
    }
    let changed: Vec<ChangedSum> = done.iter().flat_map(|(_, sums)| sums).copied().collect();
    machine.enter_with_sums(done)?;
    let is = |known: &ChangedSum| changed.iter().any(|sum| sum.start == known.start && sum.at == known.at);
    Ok(machine.state().packet().sums.iter().copied().filter(is).collect())
}
