//! `pkt.dhcp`: messages of DHCP for IPv4 (RFC 2131 § 2), and the option that says which one it is (RFC 2132 § 9.6).

use super::header::{Field, Headers, Parsing, Protocol, Values, nothing};
use super::messages::{self, Messages};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Iteration, Word};
use moonhook_ir::{CompareOp, Size};

/// Bytes before the options, the magic cookie included.
const LENGTH: u32 = 240;

/// Bytes of the header that fields are in.
const HEADER: u32 = 34;

const COOKIE: i64 = 0x6382_5363;

/// Options: what fills up, the last one, and the kind of the message.
const PAD: i64 = 0;
const END: i64 = 255;
const MESSAGE_TYPE: i64 = 53;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "dhcp",
        |machine| machine.header_paths("dhcp", parse),
        vec![
            Field::new("op", |c: &mut M| {
                let word = word(c, 0, Size::B1)?;
                c.only(Value::Number(word))
            }),
            Field::new("xid", |c: &mut M| {
                let word = word(c, 4, Size::B4)?;
                c.only(Value::Number(word))
            }),
            Field::new("ciaddr", |c| address(c, 12)),
            Field::new("yiaddr", |c| address(c, 16)),
            Field::new("siaddr", |c| address(c, 20)),
            Field::new("giaddr", |c| address(c, 24)),
            Field::new("client_mac", client_mac),
            Field::new("message_type", message_type),
        ],
    )
}

/// Words: is it there, where it starts, where the datagram ends.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("dhcp", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let messages = Messages { ports: &[67, 68], from: true, least: LENGTH };
    messages::parse_checked(machine, messages, |machine, start, _, others| {
        let cookie = machine.header_field(start, i64::from(LENGTH) - 4, Size::B4, LENGTH)?;
        let other = machine.compare(CompareOp::Ne, cookie, COOKIE);
        machine.leave_if(other, others);
        Ok(())
    })
}

fn word<M: Machine>(machine: &mut M, at: i64, size: Size) -> Result<Word, M::Stop> {
    let words = machine.known_header("dhcp", parse)?;
    machine.header_field(words[1], at, size, HEADER)
}

fn address<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let word = word(machine, at, Size::B4)?;
    machine.only(Value::Ipv4(word))
}

/// The hardware address where it is one of Ethernet: type 1, six bytes.
fn client_mac<M: Machine>(machine: &mut M) -> Values<M> {
    let kind = word(machine, 1, Size::B2)?;
    let other = machine.compare(CompareOp::Ne, kind, 0x0106);
    let (other, ethernet) = machine.split(other);
    let mut paths: ValuePaths<M> = nothing([other]).collect();
    machine.resume(ethernet);
    let start = machine.known_header("dhcp", parse)?[1];
    let word = machine.header_mac(start, 28, HEADER)?;
    paths.push(machine.take_path(Value::Mac(word)));
    Ok(paths)
}

/// The first option of that kind that has one byte or more in the message.
fn message_type<M: Machine>(machine: &mut M) -> Values<M> {
    let words = machine.known_header("dhcp", parse)?;
    let (first, end) = (machine.add(words[1], i64::from(LENGTH)), words[2]);
    let exits = machine.iterate(&[first], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let option = variables[0];
        let mut missing = Vec::new();
        let over = machine.compare(CompareOp::SGe, option, end);
        machine.leave_if(over, &mut missing);
        let (address, outside) = machine.locate(option, 1)?;
        missing.extend(outside);
        let kind = machine.load_at(address, Size::B1, false);
        let last = machine.compare_apart(CompareOp::Eq, kind, END);
        machine.leave_if(last, &mut missing);
        let pad = machine.compare_apart(CompareOp::Eq, kind, PAD);
        let (pad, other) = machine.split(pad);
        machine.resume(pad);
        let next = machine.add(option, 1);
        iteration.again(machine, vec![next]);
        machine.resume(other);
        let wanted = machine.compare_apart(CompareOp::Eq, kind, MESSAGE_TYPE);
        let (wanted, other) = machine.split(wanted);
        machine.resume(wanted);
        iteration.leave(machine, vec![option]);
        machine.resume(other);
        let (address, outside) = machine.locate(option, 2)?;
        missing.extend(outside);
        let length = machine.load_at(address.plus(1), Size::B1, false);
        let next = machine.add(option, length);
        let next = machine.add(next, 2);
        iteration.again(machine, vec![next]);
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })?;
    let (found, missing): (Vec<_>, Vec<_>) = exits.into_iter().partition(|path| !path.values.is_empty());
    let mut paths: ValuePaths<M> = nothing(missing.into_iter().map(|path| path.state)).collect();
    if let Some(&[option]) = machine.meet(found)?.as_deref() {
        let behind = machine.add(option, 3);
        let beyond = machine.compare(CompareOp::SGt, behind, end);
        let (beyond, within) = machine.split(beyond);
        paths.extend(nothing([beyond]));
        machine.resume(within);
        let option = machine.known_address(option, 3)?;
        let length = machine.load_at(option.plus(1), Size::B1, false);
        let empty = machine.compare(CompareOp::Eq, length, 0);
        let (empty, some) = machine.split(empty);
        paths.extend(nothing([empty]));
        machine.resume(some);
        let word = machine.load_at(option.plus(2), Size::B1, false);
        paths.push(machine.take_path(Value::Number(word)));
    }
    Ok(paths)
}
