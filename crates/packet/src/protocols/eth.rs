//! `pkt.eth`: the Ethernet header.

use super::header::{Field, Headers, Protocol, Values, nothing};
use super::link;
use crate::{Access, Machine, Value};
use moonhook_ir::words::Word;
use moonhook_ir::{BinaryOp, Size};

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol {
        name: "eth",
        find: |machine| {
            let (_, outside) = machine.locate(Word::Imm(0), link::ETHERNET);
            let mut ways = vec![machine.take_way(Value::Header("eth"))];
            ways.extend(nothing(outside));
            Ok(ways)
        },
        fields: vec![
            Field { name: "dst", read: |machine| mac(machine, 0) },
            Field { name: "src", read: |machine| mac(machine, 6) },
            Field {
                name: "type",
                read: |machine| {
                    let word = machine.header_field(Word::Imm(0), 12, Size::B2, link::ETHERNET)?;
                    machine.only(Value::Number(word))
                },
            },
        ],
    }
}

/// Six bytes as a number of 48 bits.
fn mac<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let high = machine.header_field(Word::Imm(0), at, Size::B4, link::ETHERNET)?;
    let low = machine.header_field(Word::Imm(0), at + 4, Size::B2, link::ETHERNET)?;
    let high = machine.shl(high, 16);
    let word = machine.binary(BinaryOp::Or, high, low);
    machine.only(Value::Mac(word))
}
