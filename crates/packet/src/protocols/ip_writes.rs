//! Assigning fields of `pkt.ip`.

use super::header::{Headers, RefusedBy};
use super::network::{self, IPV4, IPV6, Part};
use super::transport;
use crate::assign::{Assign, Header, Place, Sum, word_of};
use crate::{Machine, Value};
use moonhook_ir::Size;
use moonhook_ir::words::Word;

/// The checksum of an IPv4 header (RFC 791 § 3.1).
const SUM: Sum = Sum { at: 10, may_be_none: false };

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
                    machine.fix(header(start, version), SUM, change)?;
                }
            }
            _ => refused.absent.push(machine.take_state()),
        }
        Ok(())
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
        let change = match (version, value) {
            (4, Value::Ipv4(address)) => {
                let change = machine.put(header, Place::word(at, Size::B4), address)?;
                machine.fix(header, SUM, change)?;
                change
            }
            (6, Value::Ipv6(high, low)) => {
                let high = machine.put(header, Place::word(at, Size::B8), high)?;
                let low = machine.put(header, Place::word(at + 8, Size::B8), low)?;
                machine.both(high, low)
            }
            _ => {
                refused.unfit.push(machine.take_state());
                return Ok(());
            }
        };
        transport::addresses_changed(machine, version, change)
    })
}

fn header(start: Word, version: u32) -> Header {
    Header { start, whole: if version == 4 { IPV4 } else { IPV6 } }
}

/// Has a field written under each version, and goes on where it was.
fn by_version<M: Machine>(
    machine: &mut M,
    mut write: impl FnMut(&mut M, Word, u32) -> Result<(), M::Stop>,
) -> Result<(), M::Stop> {
    let words = machine.known_header("ip", network::parse)?;
    let start = words[Part::Start as usize];
    let mut done = Vec::new();
    for (state, version) in network::by_version(machine, &words) {
        machine.resume(state);
        if machine.alive() {
            write(machine, start, version)?;
        }
        if machine.alive() {
            done.push(machine.take_state());
        }
    }
    machine.enter(done)?;
    machine.note_field_written();
    Ok(())
}
