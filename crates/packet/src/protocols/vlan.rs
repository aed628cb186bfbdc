//! `pkt.vlan`: the outer VLAN tag (IEEE 802.1Q: 3 bits priority, 1 bit DEI, 12 bits id, then the ethertype), beside the packet where the hook
//! keeps it there, or else among its bytes.

use super::header::{Field, Headers, Protocol, RefusedBy, Values, nothing};
use super::link;
use crate::assign::{Assign, Header, Place, Takes, word_of};
use crate::tags::ChangeTags;
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Path, Word};
use moonhook_ir::{BinaryOp, Size};

/// Ethernet header and one tag.
const WHOLE: u32 = link::ETHERNET + 4;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "vlan",
        |machine| {
            let mut others = Vec::new();
            let start = link::frame(machine, &mut others)?;
            let mut paths: ValuePaths<M> = nothing(others).collect();
            if !machine.alive() {
                return Ok(paths);
            }
            if let Some(tags) = link::tags(machine) {
                let (beside, among) = machine.split_beside(tags);
                paths.push(Path { state: beside, values: Value::Header("vlan") });
                machine.resume(among);
            }
            let place = machine.add(start, 12);
            let (address, outside) = machine.locate(place, 2)?;
            paths.extend(nothing(outside));
            let ethertype = machine.load_at(address, Size::B2, false);
            let (tagged, plain) = link::split_tagged(machine, ethertype);
            paths.extend(nothing([plain]));
            machine.enter(tagged)?;
            let (_, outside) = machine.locate(start, WHOLE)?;
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
            .assigned(Takes::Number(12), |c, value, refused| write(c, (0, 12), (value, refused))),
            Field::new("priority", |machine: &mut M| {
                let tag = tag(machine)?;
                let priority = machine.shr(tag, 13);
                machine.only(Value::Number(priority))
            })
            .assigned(Takes::Number(3), |c, value, refused| write(c, (13, 3), (value, refused))),
            Field::new("dei", |machine: &mut M| {
                let tag = tag(machine)?;
                let dei = machine.bit(tag, 12);
                machine.only(dei)
            })
            .assigned(Takes::Flag, |c, value, refused| write(c, (12, 1), (value, refused))),
            Field::new("type", |machine: &mut M| {
                in_either(machine, |machine, whole| {
                    let at = i64::from(whole) - 2;
                    let start = link::known_frame(machine)?;
                    let word = machine.header_field(start, at, Size::B2, whole)?;
                    machine.only(Value::Number(word))
                })
            })
            .assigned(Takes::Number(16), |c, value, _| {
                let paths = in_either(c, |machine, whole| {
                    if let Some(word) = word_of(value) {
                        let place = Place::word(i64::from(whole) - 2, Size::B2);
                        machine.put(Header { start: Word::Imm(0), whole }, place, word)?;
                    }
                    machine.only(Value::Nothing)
                })?;
                c.enter(paths.into_iter().map(|path| path.state).collect())?;
                c.note_packet_written();
                Ok(())
            }),
            Field::new("inner_id", inner_id),
        ],
    )
}

fn tag<M: Machine>(machine: &mut M) -> Result<Word, M::Stop> {
    if link::tags(machine).is_some() {
        return machine.tag_control(WHOLE);
    }
    let start = link::known_frame(machine)?;
    machine.header_field(start, 14, Size::B2, WHOLE)
}

/// What `body` makes, given how many bytes of the frame are there up to the type behind the tag, which there is: where the tag is beside the packet
/// that is the link's own.
fn in_either<M: Machine>(machine: &mut M, mut body: impl FnMut(&mut M, u32) -> Values<M>) -> Values<M> {
    let Some(tags) = link::tags(machine) else { return body(machine, WHOLE) };
    let (beside, among) = machine.split_beside(tags);
    let mut paths = Vec::new();
    for (state, whole) in [(beside, link::ETHERNET), (among, WHOLE)] {
        machine.resume(state);
        if machine.alive() {
            paths.extend(body(machine, whole)?);
        }
    }
    Ok(paths)
}

fn inner_id<M: Machine>(machine: &mut M) -> Values<M> {
    in_either(machine, |machine, whole| {
        let start = link::known_frame(machine)?;
        let (address, outside) = machine.locate(start, whole)?;
        let mut paths: ValuePaths<M> = nothing(outside).collect();
        let ethertype = machine.load_at(address.plus(whole as i16 - 2), Size::B2, false);
        let (tagged, plain) = link::split_tagged(machine, ethertype);
        paths.push(Path { state: plain, values: Value::Nothing });
        machine.enter(tagged)?;
        let place = machine.add(start, i64::from(whole));
        let (address, outside) = machine.locate(place, link::TAG)?;
        paths.extend(nothing(outside));
        let word = machine.load_at(address, Size::B2, false);
        let word = machine.host_order(word, Size::B2);
        let id = machine.and(word, 0xfff);
        paths.push(machine.take_path(Value::Number(id)));
        Ok(paths)
    })
}

/// Writes bits of the tag's control information, from `shift` on. Beside a packet with another tag among its bytes that is cut off there is no
/// way to.
fn write<M: Machine>(
    machine: &mut M,
    (shift, bits): (i64, u32),
    (value, refused): (Value, &mut RefusedBy<M>),
) -> Result<(), M::Stop> {
    let Some(word) = word_of(value) else { return Ok(()) };
    let mut done = Vec::new();
    if let Some(tags) = machine.hook().tags {
        let (beside, among) = machine.split_beside(tags);
        machine.resume(beside);
        let following = machine.context_word(tags.protocol);
        machine.leave_on_cut_tag((following, link::ETHERNET), &mut refused.absent)?;
        if machine.alive() {
            let control = tag(machine)?;
            let others = machine.and(control, !(((1 << bits) - 1) << shift));
            let own = machine.shl(word, shift);
            let control = machine.binary(BinaryOp::Or, others, own);
            machine.replace_tag(tags, control)?;
            done.push(machine.take_state());
        }
        machine.resume(among);
    }
    if machine.alive() {
        let place = Place::part(14, Size::B2, shift, bits);
        machine.put(Header { start: Word::Imm(0), whole: WHOLE }, place, word)?;
        done.push(machine.take_state());
    }
    machine.enter(done)
}
