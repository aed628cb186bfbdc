//! `pkt.eth`: the Ethernet header.

use super::header::{Field, Headers, Protocol, Values, nothing};
use super::link;
use crate::assign::{Assign, Header, Place, Takes, word_of};
use crate::{Access, Machine, Value};
use moonhook_ir::Size;
use moonhook_ir::words::Word;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "eth",
        |machine| {
            let mut others = Vec::new();
            let start = link::frame(machine, &mut others)?;
            if !machine.alive() {
                return Ok(nothing(others).collect());
            }
            let (_, outside) = machine.locate(start, link::ETHERNET)?;
            let mut paths = vec![machine.take_path(Value::Header("eth"))];
            paths.extend(nothing(outside.into_iter().chain(others)));
            Ok(paths)
        },
        vec![
            Field::new("dst", |machine| mac(machine, 0))
                .assigned(Takes::Mac, |c, value, _| write_mac(c, 0, value)),
            Field::new("src", |machine| mac(machine, 6))
                .assigned(Takes::Mac, |c, value, _| write_mac(c, 6, value)),
            Field::new("type", |machine: &mut M| {
                let start = link::known_frame(machine)?;
                let word = machine.header_field(start, 12, Size::B2, link::ETHERNET)?;
                machine.only(Value::Number(word))
            })
            .assigned(Takes::Number(16), |machine, value, _| {
                if let Some(word) = word_of(value) {
                    machine.put(HEADER, Place::word(12, Size::B2), word)?;
                    machine.note_packet_written();
                }
                Ok(())
            }),
        ],
    )
}

fn mac<M: Machine>(machine: &mut M, at: i64) -> Values<M> {
    let start = link::known_frame(machine)?;
    let word = machine.header_mac(start, at, link::ETHERNET)?;
    machine.only(Value::Mac(word))
}

/// The header.
const HEADER: Header = Header { start: Word::Imm(0), whole: link::ETHERNET };

fn write_mac<M: Machine>(machine: &mut M, at: i64, value: Value) -> Result<(), M::Stop> {
    if let Some(word) = word_of(value) {
        machine.put_mac(HEADER, at, word)?;
    }
    Ok(())
}
