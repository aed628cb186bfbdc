//! `pkt.vxlan`: the header of VXLAN (RFC 7348 § 5).

use super::header::{Field, Headers, Parsing, Protocol};
use super::messages::{self, Messages};
use crate::{Access, Machine, Value};
use moonhook_ir::{CompareOp, Size};

/// Bytes of the header.
pub const LENGTH: u32 = 8;

/// The flag that says that there is a network identifier.
const IDENTIFIER: i64 = 3;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "vxlan",
        |machine| machine.header_paths("vxlan", parse),
        vec![Field::new("vni", |machine: &mut M| {
            let words = machine.known_header("vxlan", parse)?;
            let word = machine.header_field(words[1], 4, Size::B4, LENGTH)?;
            let identifier = machine.shr(word, 8);
            machine.only(Value::Number(identifier))
        })],
    )
}

/// Words: is it there, where it starts, where the datagram ends.
pub fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("vxlan", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let messages = Messages { ports: &[4789], from: false, least: LENGTH };
    messages::parse_checked(machine, messages, |machine, start, _, others| {
        let flags = machine.header_field(start, 0, Size::B1, LENGTH)?;
        let flag = machine.shr(flags, IDENTIFIER);
        let identified = machine.compare(CompareOp::Test, flag, 1);
        let (identified, other) = machine.split(identified);
        others.push(other);
        machine.resume(identified);
        Ok(())
    })
}
