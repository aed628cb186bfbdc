//! What ICMPv6 messages of neighbour discovery have behind their first eight bytes (RFC 4861 § 4).

use super::header::{Headers, Values, nothing};
use super::icmp;
use super::network::{self, Part};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Iteration, Word};
use moonhook_ir::{CompareOp, Size};

/// Types of messages with where their options start: solicitation and advertisement of routers, of neighbours, redirect.
const OPTIONS: [(i64, i64); 5] = [(133, 8), (134, 16), (135, 24), (136, 24), (137, 40)];

/// Where an address behind the first eight bytes ends; messages of neighbours and redirects have one.
const TARGET_END: u32 = 24;

/// Goes on in messages of the types, with where their options start, counted in the message; the other states see nothing.
fn options<M: Machine>(
    machine: &mut M,
    types: &[(i64, i64)],
    paths: &mut ValuePaths<M>,
) -> Result<(Word, Word), M::Stop> {
    let start = machine.known_header("icmp", icmp::parse)?[1];
    let words = machine.known_header("ip", network::parse)?;
    let v4 = machine.compare(CompareOp::Ne, words[Part::Version as usize], 6);
    let (v4, v6) = machine.split(v4);
    paths.extend(nothing([v4]));
    machine.resume(v6);
    let kind = machine.header_field(start, 0, Size::B1, icmp::LENGTH)?;
    let mut found = Vec::new();
    for (number, options) in types {
        let is = machine.compare(CompareOp::Eq, kind, *number);
        let (is, other) = machine.split(is);
        machine.resume(is);
        found.push(machine.take_path(vec![Word::Imm(*options)]));
        machine.resume(other);
    }
    paths.extend(nothing([machine.take_state()]));
    let options = machine.meet_word(found)?;
    Ok((start, options))
}

/// The address that is asked for, that answers, or that is the better next hop.
pub fn target<M: Machine>(machine: &mut M) -> Values<M> {
    let mut paths = ValuePaths::<M>::new();
    let (start, _) = options(machine, &OPTIONS[2..], &mut paths)?;
    if !machine.alive() {
        return Ok(paths);
    }
    let (_, outside) = machine.locate(start, TARGET_END)?;
    paths.extend(nothing(outside));
    let high = machine.header_field(start, 8, Size::B8, TARGET_END)?;
    let low = machine.header_field(start, 16, Size::B8, TARGET_END)?;
    paths.push(machine.take_path(Value::Ipv6(high, low)));
    Ok(paths)
}

/// The MAC address of the first option that has a link-layer address, of the source (1) or of the target (2).
pub fn link_address<M: Machine>(machine: &mut M) -> Values<M> {
    let mut paths = ValuePaths::<M>::new();
    let (start, first) = options(machine, &OPTIONS, &mut paths)?;
    if !machine.alive() {
        return Ok(paths);
    }
    let words = machine.known_header("ip", network::parse)?;
    let end = network::end(machine, &words)?;
    let first = machine.add(start, first);
    let (first, end) = (machine.unknown(first), machine.unknown(end));
    let exits = machine.iterate(&[first], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let option = variables[0];
        let mut missing = Vec::new();
        let (address, outside) = machine.locate(option, 8)?;
        missing.extend(outside);
        let behind = machine.add(option, 8);
        let over = machine.compare(CompareOp::SGt, behind, end);
        machine.leave_if(over, &mut missing);
        // Kind and length, in units of eight bytes, as they are loaded.
        let head = machine.load_at(address, Size::B2, false);
        let mut found = Vec::new();
        for kind in [0x0101_u16, 0x0201] {
            let is = machine.compare_apart(CompareOp::Eq, head, i64::from(kind.swap_bytes()));
            machine.leave_if(is, &mut found);
        }
        let units = machine.shr(head, 8);
        let broken = machine.compare_apart(CompareOp::Eq, units, 0);
        machine.leave_if(broken, &mut missing);
        let length = machine.shl(units, 3);
        let next = machine.add(option, length);
        iteration.again(machine, vec![next]);
        machine.enter(found)?;
        iteration.leave(machine, vec![option]);
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })?;
    let (found, missing): (Vec<_>, Vec<_>) = exits.into_iter().partition(|path| !path.values.is_empty());
    paths.extend(nothing(missing.into_iter().map(|path| path.state)));
    if let Some(&[option]) = machine.meet(found)?.as_deref() {
        let address = machine.header_mac(option, 2, 8)?;
        paths.push(machine.take_path(Value::Mac(address)));
    }
    Ok(paths)
}
