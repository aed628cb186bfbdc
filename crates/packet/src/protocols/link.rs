//! The link layer: Ethernet and up to two VLAN tags (IEEE 802.3, 802.1Q, 802.1ad).

use super::header::{Parsing, absent};
use crate::{Access, Machine};
use moonhook_hook::Layer;
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
    if machine.hook().layer == Layer::Network {
        return by_version(machine);
    }
    let mut paths = Vec::new();
    let path = |state: M::State, words: [Word; 3]| Path { state, values: words.to_vec() };
    let (address, outside) = machine.locate(Word::Imm(12), 2)?;
    paths.extend(absent(outside));
    let mut ethertype = machine.load_at(address, Size::B2, false);
    let mut next = i64::from(ETHERNET);
    // Most frames are IP and have no tag: one or two comparisons tell, after which what the next header is may be known.
    for known in [IPV4, IPV6] {
        let is = machine.compare(CompareOp::Eq, ethertype, known);
        let (is, other) = machine.split(is);
        paths.push(path(is, [Word::Imm(1), ethertype, Word::Imm(next)]));
        machine.resume(other);
    }
    for _tag in 0..2 {
        let (tagged, plain) = split_tagged(machine, ethertype);
        paths.push(path(plain, [Word::Imm(1), ethertype, Word::Imm(next)]));
        machine.enter(tagged)?;
        if !machine.alive() {
            return Ok(paths);
        }
        machine.make_cold();
        let (address, outside) = machine.locate(Word::Imm(next), 4)?;
        paths.extend(
            outside.into_iter().map(|state| path(state, [Word::Imm(1), Word::Imm(0), Word::Imm(next)])),
        );
        ethertype = machine.load_at(address.plus(2), Size::B2, false);
        next += 4;
    }
    let state = machine.take_state();
    paths.push(path(state, [Word::Imm(1), ethertype, Word::Imm(next)]));
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
