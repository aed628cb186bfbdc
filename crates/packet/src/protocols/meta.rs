//! `pkt.meta`: a number that handlers at XDP give a packet, and which is read at tc.
//!
//! It stands in a *note* in front of the packet's first byte (`bpf_xdp_adjust_meta`, `data_meta` of `struct xdp_md` and `struct __sk_buff`): the
//! script's signature, 4 bytes, and the number, 8 bytes, in the machine's byte order. Bytes of another length or signature are somebody else's.

use super::header::{Assignment, Headers, Protocol, RefusedBy, Values, nothing};
use crate::assign::{Takes, word_of};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_hook::Note;
use moonhook_ir::words::Word;
use moonhook_ir::{BinaryOp, CompareOp, Size, Value as Place};

/// Bytes of a note: the kernel takes multiples of 4, up to 32 (`xdp_metalen_invalid`, include/net/xdp.h).
const LENGTH: i64 = 12;
/// Where the number is in it.
const NUMBER: i16 = 4;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::number("meta", find, Some(Assignment { takes: Takes::Integer, write }))
}

fn find<M: Machine>(machine: &mut M) -> Values<M> {
    match machine.hook().context.note {
        None => machine.only(Value::Nothing),
        Some(Note { adjust: Some(_), .. }) => {
            let mut others = Vec::new();
            let number = read(machine, &mut others);
            let mut paths: ValuePaths<M> = nothing(others).collect();
            paths.push(machine.take_path(Value::Number(number)));
            Ok(paths)
        }
        Some(_) => {
            let [is_there, number] = machine.noted()?;
            let is_there = machine.compare(CompareOp::Ne, is_there, 0);
            let (there, missing) = machine.split(is_there);
            let mut paths: ValuePaths<M> = nothing([missing]).collect();
            machine.resume(there);
            paths.push(machine.take_path(Value::Number(number)));
            Ok(paths)
        }
    }
}

/// The number in the packet's note; leaves, to `others`, where it has none of this script.
pub fn read<M: Machine>(machine: &mut M, others: &mut Vec<M::State>) -> Word {
    let (note, length) = whole(machine);
    let is_other = machine.compare(CompareOp::Ne, length, LENGTH);
    machine.leave_if(is_other, others);
    prove(machine, note, others);
    let signature = machine.load(note, 0, Size::B4, false);
    let is_other = machine.compare(CompareOp::Ne, signature, i64::from(machine.signature()));
    machine.leave_if(is_other, others);
    machine.load(note, NUMBER, Size::B8, false)
}

/// Whatever was in front of the packet before is gone then.
fn write<M: Machine>(machine: &mut M, value: Value, refused: &mut RefusedBy<M>) -> Result<(), M::Stop> {
    let adjust = machine.hook().context.note.and_then(|note| note.adjust);
    let (Some(adjust), Some(number)) = (adjust, word_of(value)) else {
        refused.absent.push(machine.take_state());
        return Ok(());
    };
    let (_, length) = whole(machine);
    let by = machine.sub(length, LENGTH);
    let context = machine.program_context();
    let failed = machine.helper(adjust, &[context, by]);
    machine.note_packet_moved();
    let failed = machine.and(failed, 0xffff_ffff);
    let failed = machine.compare(CompareOp::Ne, failed, 0);
    machine.leave_if(failed, &mut refused.room);
    let (note, _) = whole(machine);
    prove(machine, note, &mut refused.room);
    let signature = machine.signature();
    machine.store(note, 0, Size::B4, i64::from(signature));
    machine.store(note, NUMBER, Size::B8, number);
    Ok(())
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
fn prove<M: Machine>(machine: &mut M, note: Place, others: &mut Vec<M::State>) {
    let start = machine.bounds().start;
    let behind = machine.binary(BinaryOp::Add, note, LENGTH);
    let beyond = machine.compare(CompareOp::UGt, behind, start);
    machine.leave_if(beyond, others);
}
