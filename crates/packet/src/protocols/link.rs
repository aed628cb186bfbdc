//! The link layer: Ethernet and up to two VLAN tags (IEEE 802.3, 802.1Q, 802.1ad).

use super::header::{Parsing, absent};
use crate::names::{FRAME, INSIDE};
use crate::{Access, Key, Machine, PacketState};
use moonhook_hook::{Layer, Tags};
use moonhook_ir::words::{Path, Word};
use moonhook_ir::{CompareOp, Size};

/// Bytes of an Ethernet header without tags.
pub const ETHERNET: u32 = 14;

/// Bytes of a VLAN tag.
pub const TAG: u32 = 4;

/// Ethertypes as they are loaded.
pub const IPV4: i64 = 0x0800_u16.swap_bytes() as i64;
pub const IPV6: i64 = 0x86dd_u16.swap_bytes() as i64;

/// Words of the header `link`: is there one, or is an IP header the first, the ethertype after the tags (as loaded, big-endian; 0 if a tag
/// is truncated), where the next header starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    match inside(machine) {
        Some([kind, start]) => within(machine, kind, start),
        None if machine.hook().layer == Layer::Network => by_version(machine),
        None => from(machine, Word::Imm(0)),
    }
}

/// Where the state looks at what is inside: its type, as that of a link's header is loaded, or [`FRAME`], and where it starts. That was found
/// before the state was made to look there.
fn inside<M: Machine>(machine: &M) -> Option<[Word; 2]> {
    let facts = machine.state().packet();
    let found = Key { name: INSIDE, is_inner: false };
    match facts.parsed(found).filter(|_| facts.is_inner) {
        Some(&[_, kind, start, ..]) => Some([kind, start]),
        _ => None,
    }
}

/// The same words of what is inside.
fn within<M: Machine>(machine: &mut M, kind: Word, start: Word) -> Parsing<M> {
    let frame = machine.compare(CompareOp::Eq, kind, FRAME);
    let (frame, packet) = machine.split(frame);
    machine.resume(packet);
    let mut paths = vec![machine.take_path(vec![Word::Imm(1), kind, start])];
    machine.resume(frame);
    if machine.alive() {
        paths.extend(from(machine, start)?);
    }
    Ok(paths)
}

/// Where the packet, or what is inside of it, begins with an Ethernet header; goes on there, and adds the other states to `others`.
pub fn frame<M: Machine>(machine: &mut M, others: &mut Vec<M::State>) -> Result<Word, M::Stop> {
    match inside(machine) {
        Some([kind, start]) => {
            let packet = machine.compare(CompareOp::Ne, kind, FRAME);
            machine.leave_if(packet, others);
            Ok(start)
        }
        None => {
            if machine.hook().layer == Layer::Network {
                others.push(machine.take_state());
            }
            Ok(Word::Imm(0))
        }
    }
}

/// Where that header starts, which is there.
pub fn known_frame<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    Ok(inside(machine).map_or(Word::Imm(0), |[_, start]| start))
}

/// Where a tag is kept beside the packet that is looked at.
pub fn tags<M: Machine>(machine: &M) -> Option<Tags> {
    machine.hook().tags.filter(|_| !machine.state().packet().is_inner)
}

/// The same words of a frame that starts at `base`.
fn from<M: Machine>(machine: &mut M, base: Word) -> Parsing<M> {
    let mut paths = Vec::new();
    let path = |state: M::State, words: [Word; 3]| Path { state, values: words.to_vec() };
    let place = machine.add(base, 12);
    let (address, outside) = machine.locate(place, 2)?;
    paths.extend(absent(outside));
    let mut ethertype = machine.load_at(address, Size::B2, false);
    let mut next = machine.add(base, i64::from(ETHERNET));
    // Most frames are IP and have no tag: one or two comparisons tell, after which what the next header is may be known.
    for known in [IPV4, IPV6] {
        let is = machine.compare(CompareOp::Eq, ethertype, known);
        let (is, other) = machine.split(is);
        paths.push(path(is, [Word::Imm(1), ethertype, next]));
        machine.resume(other);
    }
    for _tag in 0..2 {
        let (tagged, plain) = split_tagged(machine, ethertype);
        paths.push(path(plain, [Word::Imm(1), ethertype, next]));
        machine.enter(tagged)?;
        if !machine.alive() {
            return Ok(paths);
        }
        machine.make_cold();
        let (address, outside) = machine.locate(next, 4)?;
        paths.extend(outside.into_iter().map(|state| path(state, [Word::Imm(1), Word::Imm(0), next])));
        ethertype = machine.load_at(address.plus(2), Size::B2, false);
        next = machine.add(next, i64::from(TAG));
    }
    let state = machine.take_state();
    paths.push(path(state, [Word::Imm(1), ethertype, next]));
    Ok(paths)
}

/// The same words of packets that begin with an IP header, of which the first four bits say what it is.
fn by_version<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (address, outside) = machine.locate(Word::Imm(0), 1)?;
    let mut paths: Vec<_> = absent(outside).collect();
    let first = machine.load_at(address, Size::B1, false);
    let version = machine.shr(first, 4);
    for (number, ethertype) in [(4, IPV4), (6, IPV6)] {
        let is = machine.compare(CompareOp::Eq, version, number);
        let (is, other) = machine.split(is);
        paths.push(Path { state: is, values: vec![Word::Imm(1), Word::Imm(ethertype), Word::Imm(0)] });
        machine.resume(other);
    }
    paths.extend(absent([machine.take_state()]));
    Ok(paths)
}

/// Splits on whether an ethertype (as loaded) announces a VLAN tag.
pub fn split_tagged<M: Machine>(machine: &mut M, ethertype: Word) -> (Vec<M::State>, M::State) {
    let customer = machine.compare(CompareOp::Eq, ethertype, i64::from(0x8100_u16.swap_bytes()));
    let (customer, other) = machine.split(customer);
    machine.resume(other);
    let service = machine.compare(CompareOp::Eq, ethertype, i64::from(0x88a8_u16.swap_bytes()));
    let (service, plain) = machine.split(service);
    (vec![customer, service], plain)
}
