//! `pkt.vlan`: the outer VLAN tag (IEEE 802.1Q: 3 bits priority, 1 bit DEI, 12 bits id, then the ethertype).

use super::header::{Field, Headers, Protocol, Values, nothing};
use super::link;
use crate::assign::{Assign, Header, Place, Takes, word_of};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_hook::Layer;
use moonhook_ir::Size;
use moonhook_ir::words::{Path, Word};

/// Ethernet header and one tag.
const WHOLE: u32 = link::ETHERNET + 4;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "vlan",
        |machine| {
            if machine.hook().layer == Layer::Network {
                return machine.only(Value::Nothing);
            }
            let (address, outside) = machine.locate(Word::Imm(12), 2)?;
            let mut paths: ValuePaths<M> = nothing(outside).collect();
            let ethertype = machine.load_at(address, Size::B2, false);
            let (tagged, plain) = link::split_tagged(machine, ethertype);
            paths.extend(nothing([plain]));
            machine.enter(tagged)?;
            let (_, outside) = machine.locate(Word::Imm(0), WHOLE)?;
            paths.extend(nothing(outside));
            paths.push(machine.take_path(Value::Header("vlan")));
            Ok(paths)
        },
        vec![
            Field::new("id", |machine: &mut M| {
                let tag = tag(machine)?;
                let id = machine.and(tag, 0xfff);
                machine.only(Value::Number(id))
            })
            .assigned(Takes::Number(12), |c, value, _| write(c, Place::part(14, Size::B2, 0, 12), value)),
            Field::new("priority", |machine: &mut M| {
                let tag = tag(machine)?;
                let priority = machine.shr(tag, 13);
                machine.only(Value::Number(priority))
            })
            .assigned(Takes::Number(3), |c, value, _| write(c, Place::part(14, Size::B2, 13, 3), value)),
            Field::new("dei", |machine: &mut M| {
                let tag = tag(machine)?;
                let dei = machine.bit(tag, 12);
                machine.only(dei)
            })
            .assigned(Takes::Flag, |c, value, _| write(c, Place::part(14, Size::B2, 12, 1), value)),
            Field::new("type", |machine: &mut M| {
                let word = machine.header_field(Word::Imm(0), 16, Size::B2, WHOLE)?;
                machine.only(Value::Number(word))
            })
            .assigned(Takes::Number(16), |c, value, _| {
                write(c, Place::word(16, Size::B2), value)?;
                c.note_packet_written();
                Ok(())
            }),
            Field::new("inner_id", inner_id),
        ],
    )
}

fn tag<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    machine.header_field(Word::Imm(0), 14, Size::B2, WHOLE)
}

fn inner_id<M: Machine>(machine: &mut M) -> Values<M> {
    let address = machine.known_address(Word::Imm(0), WHOLE)?;
    let ethertype = machine.load_at(address.plus(16), Size::B2, false);
    let (tagged, plain) = link::split_tagged(machine, ethertype);
    let mut paths = vec![Path { state: plain, values: Value::Nothing }];
    machine.enter(tagged)?;
    let (address, outside) = machine.locate(Word::Imm(i64::from(WHOLE)), 4)?;
    paths.extend(nothing(outside));
    let word = machine.load_at(address, Size::B2, false);
    let word = machine.host_order(word, Size::B2);
    let id = machine.and(word, 0xfff);
    paths.push(machine.take_path(Value::Number(id)));
    Ok(paths)
}

/// Writes bits of the tag.
fn write<M: Machine>(machine: &mut M, place: Place, value: Value) -> Result<(), M::Stop> {
    if let Some(word) = word_of(value) {
        machine.put(Header { start: Word::Imm(0), whole: WHOLE }, place, word)?;
    }
    Ok(())
}
