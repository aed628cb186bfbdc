//! `pkt.quic`: packets of QUIC with a long header, as connections begin with (RFC 8999 § 5.1, RFC 9000 § 17.2).

use super::header::{Field, Headers, Parsing, Protocol};
use super::messages::{self, Messages};
use crate::{Access, Machine, Value};
use moonhook_ir::{CompareOp, Size};

/// Bytes up to the destination connection id, and the first length behind an empty one.
const LENGTH: u32 = 7;

/// The two highest bits of the first byte: a long header, and that it is QUIC.
const LONG: i64 = 0xc0;

/// Bytes of a connection id at most.
const LONGEST: i64 = 20;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "quic",
        |machine| machine.header_paths("quic", parse),
        vec![
            Field::new("version", |machine: &mut M| {
                let start = machine.known_header("quic", parse)?[1];
                let version = machine.header_field(start, 1, Size::B4, LENGTH)?;
                machine.only(Value::Number(version))
            }),
            Field::new("dcid", |machine: &mut M| {
                let start = machine.known_header("quic", parse)?[1];
                let length = machine.header_field(start, 5, Size::B1, LENGTH)?;
                let start = machine.add(start, 6);
                machine.only(Value::Bytes { start, length })
            })
            .of_text(),
        ],
    )
}

/// Words: is it there, where it starts, where the datagram ends.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("quic", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let messages = Messages { ports: &[443], from: true, least: LENGTH };
    messages::parse_checked(machine, messages, |machine, start, end, others| {
        let first = machine.header_field(start, 0, Size::B1, LENGTH)?;
        let form = machine.and(first, LONG);
        let other = machine.compare(CompareOp::Ne, form, LONG);
        machine.leave_if(other, others);
        let length = machine.header_field(start, 5, Size::B1, LENGTH)?;
        let long = machine.compare(CompareOp::UGt, length, LONGEST);
        machine.leave_if(long, others);
        let id = machine.add(start, 6);
        let behind = machine.add(id, length);
        let beyond = machine.compare(CompareOp::SGt, behind, end);
        machine.leave_if(beyond, others);
        Ok(())
    })
}
