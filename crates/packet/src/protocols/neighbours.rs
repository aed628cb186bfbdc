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

/// Options of messages: their kinds, and how many units of eight bytes they have.
#[derive(Clone, Copy)]
struct Options {
    /// Messages that have them.
    messages: &'static [(i64, i64)],
    kinds: &'static [i64],
    units: i64,
    /// They may have more units.
    open: bool,
}

/// Link-layer addresses of who sends and of who is meant (§ 4.6.1), prefixes (§ 4.6.2), the largest packets (§ 4.6.4), servers for names
/// (RFC 8106 § 5.1).
const ADDRESSES: Options = Options { messages: &OPTIONS, kinds: &[1, 2], units: 1, open: false };
const SOURCE: Options = Options { kinds: &[1], ..ADDRESSES };
const TARGET: Options = Options { kinds: &[2], ..ADDRESSES };
const ROUTERS: &[(i64, i64)] = &[(134, 16)];
const PREFIX: Options = Options { messages: ROUTERS, kinds: &[3], units: 4, open: false };
const MTU: Options = Options { messages: ROUTERS, kinds: &[5], units: 1, open: false };
const SERVERS: Options = Options { messages: ROUTERS, kinds: &[25], units: 3, open: true };

/// The MAC address of the first option that has a link-layer address, of the source (1) or of the target (2).
pub fn link_address<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &ADDRESSES, mac)
}

pub fn source_link_address<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &SOURCE, mac)
}

pub fn target_link_address<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &TARGET, mac)
}

/// The first prefix of a router's advertisement.
pub fn prefix<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &PREFIX, |machine, option| ipv6(machine, option, (16, 32)))
}

pub fn prefix_length<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &PREFIX, |machine, option| {
        Ok(Value::Number(machine.header_field(option, 2, Size::B1, 32)?))
    })
}

pub fn mtu<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &MTU, |machine, option| {
        Ok(Value::Number(machine.header_field(option, 4, Size::B4, 8)?))
    })
}

/// The first server of the first list of them.
pub fn dns_server<M: Machine>(machine: &mut M) -> Values<M> {
    of_option(machine, &SERVERS, |machine, option| ipv6(machine, option, (8, 24)))
}

fn mac<M: Machine>(machine: &mut M, option: Word) -> Result<Value, M::Stop> {
    Ok(Value::Mac(machine.header_mac(option, 2, 8)?))
}

/// The address at a place of an option that has so many bytes.
fn ipv6<M: Machine>(machine: &mut M, option: Word, (at, whole): (i64, u32)) -> Result<Value, M::Stop> {
    let high = machine.header_field(option, at, Size::B8, whole)?;
    let low = machine.header_field(option, at + 8, Size::B8, whole)?;
    Ok(Value::Ipv6(high, low))
}

/// What the first of the options has, which `read` reads where it starts.
fn of_option<M: Machine>(
    machine: &mut M,
    wanted: &Options,
    read: fn(&mut M, Word) -> Result<Value, M::Stop>,
) -> Values<M> {
    let mut paths = ValuePaths::<M>::new();
    let (start, first) = options(machine, wanted.messages, &mut paths)?;
    if !machine.alive() {
        return Ok(paths);
    }
    let words = machine.known_header("ip", network::parse)?;
    let end = network::end(machine, &words)?;
    let first = machine.add(start, first);
    let (first, end) = (machine.unknown(first), machine.unknown(end));
    let mut missing = Vec::new();
    let found = find_option(machine, (first, end), wanted, &mut missing)?;
    if let Some(option) = found {
        let size = 8 * wanted.units;
        let behind = machine.add(option, size);
        let beyond = machine.compare(CompareOp::SGt, behind, end);
        machine.leave_if(beyond, &mut missing);
        let (_, outside) = machine.locate(option, size as u32)?;
        missing.extend(outside);
        if machine.alive() {
            let value = read(machine, option)?;
            paths.push(machine.take_path(value));
        }
    }
    paths.extend(nothing(missing));
    Ok(paths)
}

/// Looks for the first of the options between two offsets; goes on where there is one, with where it starts.
fn find_option<M: Machine>(
    machine: &mut M,
    (first, end): (Word, Word),
    wanted: &Options,
    missing: &mut Vec<M::State>,
) -> Result<Option<Word>, M::Stop> {
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
        let units = machine.shr(head, 8);
        let mut found = Vec::new();
        for kind in wanted.kinds {
            match wanted.open {
                false => {
                    let is = machine.compare_apart(CompareOp::Eq, head, wanted.units << 8 | kind);
                    machine.leave_if(is, &mut found);
                }
                true => {
                    let own = machine.and(head, 0xff);
                    let is = machine.compare_apart(CompareOp::Eq, own, *kind);
                    let (is, other) = machine.split(is);
                    machine.resume(is);
                    let enough = machine.compare_apart(CompareOp::UGe, units, wanted.units);
                    machine.leave_if(enough, &mut found);
                    let short = machine.take_state();
                    machine.enter(vec![short, other])?;
                }
            }
        }
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
    let (found, others): (Vec<_>, Vec<_>) = exits.into_iter().partition(|path| !path.values.is_empty());
    missing.extend(others.into_iter().map(|path| path.state));
    Ok(machine.meet(found)?.and_then(|words| words.first().copied()))
}
