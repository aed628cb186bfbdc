//! `pkt.udp` (RFC 768).

use super::header::{Field, Headers, Parsing, Protocol, Values};
use super::transport;
use crate::assign::{Place, Sum, Takes};
use crate::{Access, Machine, PacketState, Value};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, Size};

/// Bytes of the header.
pub const LENGTH: u32 = 8;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "udp",
        |machine| machine.header_paths("udp", parse),
        vec![
            Field::new("sport", |c| field(c, 0))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(0, Size::B2), value)),
            Field::new("dport", |c| field(c, 2))
                .assigned(Takes::Number(16), |c, value, _| assign(c, Place::word(2, Size::B2), value)),
            Field::new("length", |c| field(c, 4)),
            Field::new("checksum", |c| field(c, 6)).assigned(Takes::Number(16), |c, value, _| {
                transport::write(c, ("udp", parse), LENGTH, Place::word(6, Size::B2), value)
            }),
        ],
    )
}

/// The checksum.
pub const SUM: Sum = Sum { at: 6, may_be_none: true };

/// What is not found by the ports of a datagram.
const BEFORE_PORTS: [&str; 4] = ["link", "ip", "udp", "ct"];

/// Assigns a port.
fn assign<M: Machine>(machine: &mut M, place: Place, value: Value) -> Result<(), M::Stop> {
    transport::assign(machine, ("udp", parse), (LENGTH, SUM), place, value)?;
    machine.state_mut().packet_mut().keep_only(&BEFORE_PORTS);
    Ok(())
}

/// Words: is it there, where it starts.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("udp", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let mut paths = Vec::new();
    if let Some((start, _)) = transport::locate(machine, [17, 17], LENGTH, &mut paths)? {
        paths.push(machine.take_path(vec![Word::Imm(1), start]));
    }
    Ok(paths)
}

/// Goes on where the header at `start` has one of the ports as destination or, if `from` says so, as source; gives the other states.
pub fn only_ports<M: Machine>(
    machine: &mut M,
    start: Word,
    ports: &[u16],
    from: bool,
) -> Result<Vec<M::State>, M::Stop> {
    let mut right = Vec::new();
    let places: &[i64] = if from { &[2, 0] } else { &[2] };
    for &at in places {
        let found = machine.header_field(start, at, Size::B2, LENGTH)?;
        for port in ports {
            let is = machine.compare(CompareOp::Eq, found, i64::from(*port));
            machine.leave_if(is, &mut right);
        }
    }
    let others = machine.take_state();
    machine.enter(right)?;
    Ok(vec![others])
}

fn field<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let words = machine.known_header("udp", parse)?;
    let word = machine.header_field(words[1], at, Size::B2, LENGTH)?;
    machine.only(Value::Number(word))
}
