//! What is inside of a packet: an IP packet or a frame, in IP, GRE, VXLAN or GUE.

use super::super::header::{Headers, Parsing, absent};
use super::super::link::{self, ETHERNET};
use super::super::messages::{self, Messages};
use super::super::network::{self, IPV4, Part};
use super::super::{gre, vxlan};
use super::VERSIONS;
pub use crate::names::{FRAME, INSIDE as NAME};
use crate::{Access, Machine};
use moonhook_ir::words::{Word, WordPaths};
use moonhook_ir::{CompareOp, Size};

/// What GRE calls a frame (RFC 1701, transparent Ethernet bridging), as it is loaded.
const BRIDGED: i64 = 0x6558_u16.swap_bytes() as i64;

/// Protocol numbers.
const GRE: i64 = 47;
const UDP: i64 = 17;

/// Messages of GUE, and how many bytes their headers have at least.
const GUE_LENGTH: u32 = 4;
const GUE: Messages = Messages { ports: &[6080], from: false, least: GUE_LENGTH };

/// Bits of the first byte of a header of GUE: variant and control, which have to be 0; and words of options.
const NOT_DATA: i64 = 0xe0;
const OPTIONS: i64 = 0x1f;

/// Words: is there something inside, its type as that of a link's header is loaded, or [`FRAME`], where it starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("inside", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (state, words, none) = machine.found("ip", network::parse)?;
    let mut paths: WordPaths<M> = absent(none).collect();
    machine.resume(state);
    if !machine.alive() {
        return Ok(paths);
    }
    let later = machine.compare(CompareOp::Ne, words[Part::FragmentOffset as usize], 0);
    let (later, first) = machine.split(later);
    paths.extend(absent([later]));
    machine.resume(first);
    let [protocol, next] = [Part::Protocol, Part::Next].map(|part| words[part as usize]);
    let mut found = Vec::new();
    for (number, kind, _) in VERSIONS {
        let is = machine.compare(CompareOp::Eq, protocol, number);
        let (is, other) = machine.split(is);
        found.push((is, kind, next));
        machine.resume(other);
    }
    let is = machine.compare(CompareOp::Eq, protocol, GRE);
    let (carried, other) = machine.split(is);
    machine.resume(other);
    let is = machine.compare(CompareOp::Eq, protocol, UDP);
    let (datagram, other) = machine.split(is);
    paths.extend(absent([other]));
    machine.resume(carried);
    in_gre(machine, &mut found, &mut paths)?;
    machine.resume(datagram);
    in_udp(machine, &mut found, &mut paths)?;
    let mut there = Vec::new();
    for (state, kind, start) in found {
        machine.resume(state);
        check(machine, kind, start, (&mut there, &mut paths))?;
    }
    if let Some(&[kind, start]) = machine.meet(there)?.as_deref() {
        // The verifier would walk what follows for each way of carrying packets.
        let (kind, start) = (machine.unknown(kind), machine.unknown(start));
        paths.push(machine.take_path(vec![Word::Imm(1), kind, start]));
    }
    Ok(paths)
}

/// States in which something of a type may start somewhere.
type Found<S> = Vec<(S, i64, Word)>;

fn in_gre<M: Machine>(
    machine: &mut M,
    found: &mut Found<M::State>,
    paths: &mut WordPaths<M>,
) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let (state, _, none) = machine.found("gre", gre::parse)?;
    paths.extend(absent(none));
    machine.resume(state);
    if !machine.alive() {
        return Ok(());
    }
    let (carried, next) = gre::behind(machine)?;
    for (is, kind) in [(link::IPV4, link::IPV4), (link::IPV6, link::IPV6), (BRIDGED, FRAME)] {
        let is = machine.compare(CompareOp::Eq, carried, is);
        let (is, other) = machine.split(is);
        found.push((is, kind, next));
        machine.resume(other);
    }
    paths.extend(absent([machine.take_state()]));
    Ok(())
}

fn in_udp<M: Machine>(
    machine: &mut M,
    found: &mut Found<M::State>,
    paths: &mut WordPaths<M>,
) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let (state, words, others) = machine.found("vxlan", vxlan::parse)?;
    machine.resume(state);
    if machine.alive() {
        let start = machine.add(words[1], i64::from(vxlan::LENGTH));
        found.push((machine.take_state(), FRAME, start));
    }
    machine.enter(others)?;
    if !machine.alive() {
        return Ok(());
    }
    let (state, words, others) = machine.found("gue", |machine| messages::parse(machine, GUE))?;
    paths.extend(absent(others));
    machine.resume(state);
    if !machine.alive() {
        return Ok(());
    }
    let header = machine.header_field(words[1], 0, Size::B2, GUE_LENGTH)?;
    let first = machine.shr(header, 8);
    let control = machine.and(first, NOT_DATA);
    let control = machine.compare(CompareOp::Ne, control, 0);
    let (control, data) = machine.split(control);
    paths.extend(absent([control]));
    machine.resume(data);
    let options = machine.and(first, OPTIONS);
    let options = machine.shl(options, 2);
    let next = machine.add(words[1], i64::from(GUE_LENGTH));
    let next = machine.add(next, options);
    let carried = machine.and(header, 0xff);
    for (number, kind, _) in VERSIONS {
        let is = machine.compare(CompareOp::Eq, carried, number);
        let (is, other) = machine.split(is);
        found.push((is, kind, next));
        machine.resume(other);
    }
    paths.extend(absent([machine.take_state()]));
    Ok(())
}

/// There is something of that type where its header is there: a path that brings type and place.
fn check<M: Machine>(
    machine: &mut M,
    kind: i64,
    start: Word,
    (there, paths): (&mut WordPaths<M>, &mut WordPaths<M>),
) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let whole = VERSIONS.iter().find(|(_, known, _)| *known == kind).map_or(ETHERNET, |(.., whole)| *whole);
    let (address, outside) = machine.locate(start, whole)?;
    paths.extend(absent(outside));
    if machine.alive() && kind != FRAME {
        let first = machine.load_at(address, Size::B1, false);
        let version = machine.shr(first, 4);
        let other = machine.compare(CompareOp::Ne, version, if whole == IPV4 { 4 } else { 6 });
        let (other, right) = machine.split(other);
        paths.extend(absent([other]));
        machine.resume(right);
    }
    there.push(machine.take_path(vec![Word::Imm(kind), start]));
    Ok(())
}
