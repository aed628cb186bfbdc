//! `pkt.meta`: a number or a record that handlers at XDP give a packet, and which is read at tc.
//!
//! It stands in a *note* in front of the packet's first byte (`bpf_xdp_adjust_meta`, `data_meta` of `struct xdp_md` and `struct __sk_buff`): the
//! script's signature, 4 bytes, and the number, 8 bytes, in the machine's byte order; [`super::meta_record`] has the notes that are records. Bytes of
//! another length or signature are somebody else's.

use super::header::{Assignment, Headers, Protocol, RefusedBy, Values, nothing};
use super::meta_record::{self, RECORD};
use crate::assign::{Takes, word_of};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_hook::Note;
use moonhook_ir::words::Word;
use moonhook_ir::{BinaryOp, CompareOp, Size, Value as Place};

/// Bytes of a note with a number.
const LENGTH: i64 = 12;
/// Where the number is in it.
const NUMBER: i16 = 4;

/// What a packet has come with, at hooks where that is kept ([`Machine::noted`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noted {
    Nothing = 0,
    Number = 1,
    Record = 2,
}

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::number(RECORD, find, Some(Assignment { takes: Takes::Integer, write }))
}

fn find<M: Machine>(machine: &mut M) -> Values<M> {
    match machine.hook().context.note {
        None => machine.only(Value::Nothing),
        Some(Note { adjust: Some(_), .. }) => {
            let mut others = Vec::new();
            let number = read(machine, &mut others);
            let mut found: ValuePaths<M> = vec![machine.take_path(Value::Number(number))];
            if let Some(records) = machine.records() {
                machine.enter(std::mem::take(&mut others))?;
                meta_record::find(machine, records, &mut others);
                found.push(machine.take_path(Value::Header(RECORD)));
            }
            Ok(nothing(others).chain(found).collect())
        }
        Some(_) => {
            let [kind, number] = machine.noted()?;
            let is_there = machine.compare(CompareOp::Ne, kind, Noted::Nothing as i64);
            let (there, missing) = machine.split(is_there);
            let mut paths: ValuePaths<M> = nothing([missing]).collect();
            machine.resume(there);
            if machine.records().is_some() {
                let is_record = machine.compare(CompareOp::Eq, kind, Noted::Record as i64);
                let (record, other) = machine.split(is_record);
                machine.resume(record);
                paths.push(machine.take_path(Value::Header(RECORD)));
                machine.resume(other);
            }
            paths.push(machine.take_path(Value::Number(number)));
            Ok(paths)
        }
    }
}

/// The number in the packet's note; leaves, to `others`, where it has none of this script.
pub fn read<M: Machine>(machine: &mut M, others: &mut Vec<M::State>) -> Word {
    let signature = machine.signature();
    let note = signed(machine, (LENGTH, signature), others);
    machine.load(note, NUMBER, Size::B8, false)
}

/// Whatever was in front of the packet before is gone then.
fn write<M: Machine>(machine: &mut M, value: Value, refused: &mut RefusedBy<M>) -> Result<(), M::Stop> {
    let signature = machine.signature();
    match (word_of(value), make_room(machine, (LENGTH, signature), refused)) {
        (Some(number), Some(note)) => machine.store(note, NUMBER, Size::B8, number),
        _ => refused.absent.push(machine.take_state()),
    }
    Ok(())
}

/// The note of that length and signature; leaves, to `others`, where the packet has none.
pub(super) fn signed<M: Machine>(
    machine: &mut M,
    (length, signature): (i64, u32),
    others: &mut Vec<M::State>,
) -> Place {
    let (note, there) = whole(machine);
    let is_other = machine.compare(CompareOp::Ne, there, length);
    machine.leave_if(is_other, others);
    prove(machine, (note, length), others);
    let found = machine.load(note, 0, Size::B4, false);
    let is_other = machine.compare(CompareOp::Ne, found, i64::from(signature));
    machine.leave_if(is_other, others);
    note
}

/// A note of that length with that signature, which is still to be filled in. `None` where the kernel has none.
pub(super) fn make_room<M: Machine>(
    machine: &mut M,
    (length, signature): (i64, u32),
    refused: &mut RefusedBy<M>,
) -> Option<Place> {
    let adjust = machine.hook().context.note?.adjust?;
    let (_, there) = whole(machine);
    let by = machine.sub(there, length);
    let context = machine.program_context();
    let failed = machine.helper(adjust, &[context, by]);
    machine.note_packet_moved();
    let failed = machine.and(failed, 0xffff_ffff);
    let failed = machine.compare(CompareOp::Ne, failed, 0);
    machine.leave_if(failed, &mut refused.room);
    let (note, _) = whole(machine);
    prove(machine, (note, length), &mut refused.room);
    machine.store(note, 0, Size::B4, i64::from(signature));
    Some(note)
}

/// Where the bytes in front of the packet start, and how many they are.
fn whole<M: Machine>(machine: &mut M) -> (Place, Word) {
    let start = machine.bounds().start;
    let at = machine.hook().context.note.map_or(0, |note| note.start);
    let context = machine.program_context();
    let context = machine.value(context);
    let note = machine.load(context, at, Size::B4, false);
    let length = machine.binary(BinaryOp::Sub, start, note);
    (machine.value(note), length)
}

/// What the verifier knows only by a comparison with the packet's start: that a note is there.
fn prove<M: Machine>(machine: &mut M, (note, length): (Place, i64), others: &mut Vec<M::State>) {
    let start = machine.bounds().start;
    let behind = machine.binary(BinaryOp::Add, note, length);
    let beyond = machine.compare(CompareOp::UGt, behind, start);
    machine.leave_if(beyond, others);
}
