//! `pkt.meta` as a record: fields by name, each an integer, a boolean or nothing.
//!
//! The note is, in the machine's byte order: a signature, 4 bytes, which depends on the names and types of the fields; two bits for each field, in
//! 4 bytes or in 8 where there are more than 16; then the fields, 8 bytes each, 0 where one is not there. The kernel takes notes of multiples of
//! 4 bytes, up to 32 in older versions and 252 in newer ones (`xdp_metalen_invalid`, include/net/xdp.h), as far as there is room in front of the packet: of 256 bytes
//! the kernel needs 40 itself (`struct xdp_frame`).

use super::header::{Headers, RefusedBy, Values, nothing};
use super::meta::{make_room, signed};
use crate::note::BITS;
pub use crate::note::{IS_BOOLEAN, IS_THERE, Kinds, MOST_FIELDS, Records};
use crate::{Machine, Value, ValuePaths};
use moonhook_hook::Note;
use moonhook_ir::words::Word;
use moonhook_ir::{BinaryOp, CompareOp, Size, Value as Place};

/// What packets have it under, and what the record is as a header.
pub const RECORD: &str = "meta";

/// The bits of the fields of the packet's record, and where it is; leaves, to `others`, where it has none.
pub fn find<M: Machine>(machine: &mut M, records: Records, others: &mut Vec<M::State>) -> (Word, Place) {
    let note = signed(machine, (records.length(), records.signature), others);
    (machine.load(note, BITS, records.size_of_bits(), false), note)
}

/// The words that are kept of a record: the bits of its fields, then these.
pub fn read_all<M: Machine>(machine: &mut M, records: Records, others: &mut Vec<M::State>) -> Vec<Word> {
    let (bits, note) = find(machine, records, others);
    let fields = (0..records.count).map(|number| machine.load(note, records.field(number), Size::B8, false));
    std::iter::once(bits).chain(fields).collect()
}

/// A field of the packet's record. Nothing where it has none by now.
pub fn read_field<M: Machine>(machine: &mut M, number: usize, kinds: Kinds) -> Values<M> {
    let Some(records) = machine.records() else { return machine.only(Value::Nothing) };
    let mut others = Vec::new();
    let (bits, field) = match machine.hook().context.note {
        None => return machine.only(Value::Nothing),
        Some(Note { adjust: Some(_), .. }) => {
            let (bits, note) = find(machine, records, &mut others);
            (bits, machine.load(note, records.field(number), Size::B8, false))
        }
        // A packet keeps there what it has come with.
        Some(_) => {
            let [_, bits] = machine.noted()?;
            (bits, machine.noted_field(number)?)
        }
    };
    let is_there = machine.and(bits, IS_THERE << (2 * number));
    let is_missing = machine.compare(CompareOp::Eq, is_there, 0);
    machine.leave_if(is_missing, &mut others);
    let mut paths: ValuePaths<M> = nothing(others).collect();
    if kinds.integer && kinds.boolean {
        let is_boolean = machine.and(bits, IS_BOOLEAN << (2 * number));
        let is_boolean = machine.compare(CompareOp::Ne, is_boolean, 0);
        let (boolean, integer) = machine.split(is_boolean);
        machine.resume(boolean);
        let flag = machine.and(field, 1);
        paths.push(machine.take_path(Value::Flag(flag)));
        machine.resume(integer);
    }
    let value = match kinds.integer {
        true => Value::Number(field),
        false => Value::Flag(machine.and(field, 1)),
    };
    paths.push(machine.take_path(value));
    Ok(paths)
}

/// Gives the packet a record in the place of what was in front of it: the bits of its fields, and each of these, 0 where it is not there. Goes on where
/// that could be done.
pub fn write<M: Machine>(machine: &mut M, bits: Word, fields: &[Word], refused: &mut RefusedBy<M>) {
    let Some(records) = machine.records() else { return };
    let Some(note) = make_room(machine, (records.length(), records.signature), refused) else {
        refused.absent.push(machine.take_state());
        return;
    };
    machine.store(note, BITS, records.size_of_bits(), bits);
    for (number, field) in fields.iter().enumerate() {
        machine.store(note, records.field(number), Size::B8, *field);
    }
    machine.code_mut().same.packet_may_change();
}

/// Changes a field of the packet's record: its two bits, and what it is.
pub fn write_field<M: Machine>(
    machine: &mut M,
    number: Option<usize>,
    [bits, field]: [Word; 2],
    refused: &mut RefusedBy<M>,
) {
    let Some(records) = machine.records() else { return };
    let (before, note) = find(machine, records, &mut refused.absent);
    let Some(number) = number else { return };
    let others = machine.and(before, !((IS_THERE | IS_BOOLEAN) << (2 * number)));
    let own = machine.shl(bits, 2 * number as i64);
    let bits = machine.binary(BinaryOp::Or, others, own);
    machine.store(note, BITS, records.size_of_bits(), bits);
    machine.store(note, records.field(number), Size::B8, field);
    machine.code_mut().same.packet_may_change();
}
