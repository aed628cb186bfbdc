//! What is inside of a packet takes its place.

use super::super::header::Headers;
use super::super::link::{self, ETHERNET};
use super::super::network::{self, Part};
use super::{Failed, STARTS, gone, inside, room};
use crate::lengths::ChangeLength;
use crate::{Access, Machine};
use moonhook_hook::Lengths;
use moonhook_hook::lengths::{AFTER_LINK, DECAP};
use moonhook_ir::CompareOp;
use moonhook_ir::words::Word;

/// The types that the kernel knows, by the flags that say so.
const KINDS: [(i64, i64); 2] = [(link::IPV4, DECAP[0]), (link::IPV6, DECAP[1])];

/// Takes the outer headers away, and goes on where that could be done.
pub fn decap<M: Machine>(machine: &mut M, failed: &mut Failed<M::State>) -> Result<(), M::Stop> {
    let (state, words, absent) = machine.found(inside::NAME, inside::parse)?;
    failed.none.extend(absent);
    machine.resume(state);
    let &[_, kind, inner, ..] = words.as_slice() else { return Ok(()) };
    if !machine.alive() {
        return Ok(());
    }
    let words = machine.known_header("ip", network::parse)?;
    let fragment = machine.compare(CompareOp::Ne, words[Part::MoreFragments as usize], 0);
    machine.leave_if(fragment, &mut failed.none);
    let start = words[Part::Start as usize];
    let mut done = Vec::new();
    let is = machine.compare(CompareOp::Eq, kind, inside::FRAME);
    let (frame, packet) = machine.split(is);
    machine.resume(packet);
    for (known, flags) in KINDS {
        let is = machine.compare(CompareOp::Eq, kind, known);
        let (is, other) = machine.split(is);
        machine.resume(is);
        take_packet(machine, (start, inner), (known, flags), failed, &mut done)?;
        machine.resume(other);
    }
    // Nothing else is found.
    gone(machine);
    machine.resume(frame);
    take_frame(machine, (start, inner), failed, &mut done)?;
    machine.enter(done)
}

/// Leaves an IP packet of that type, which starts at `inner`, behind the link's header, which ends at `start`. The states in which that is done
/// are added to `done`.
fn take_packet<M: Machine>(
    machine: &mut M,
    (start, inner): (Word, Word),
    (kind, flags): (i64, i64),
    failed: &mut Failed<M::State>,
    done: &mut Vec<M::State>,
) -> Result<(), M::Stop> {
    if !machine.alive() {
        return Ok(());
    }
    let bytes = machine.sub(inner, start);
    for known in STARTS {
        let is = machine.compare(CompareOp::Eq, start, i64::from(known));
        let (is, other) = machine.split(is);
        machine.resume(is);
        match machine.hook().lengths {
            _ if !machine.alive() => {}
            Some(Lengths::Ends { head, .. }) => {
                let link = room::read_link(machine, known)?;
                machine.ask(head, &[bytes], &mut failed.refused)?;
                room::write_link(machine, 0, known, &link)?;
            }
            Some(Lengths::Stack { room, .. }) if known == ETHERNET => {
                take_room(machine, room, (bytes, flags), failed)?;
            }
            _ => failed.refused.push(machine.take_state()),
        }
        if machine.alive() {
            room::write_kind(machine, known, kind)?;
            machine.note_packet_written();
            done.push(machine.take_state());
        }
        machine.resume(other);
    }
    gone(machine);
    Ok(())
}

/// Leaves the frame that starts at `inner`, of an IP packet that starts at `start`.
fn take_frame<M: Machine>(
    machine: &mut M,
    (start, inner): (Word, Word),
    failed: &mut Failed<M::State>,
    done: &mut Vec<M::State>,
) -> Result<(), M::Stop> {
    match machine.hook().lengths {
        _ if !machine.alive() => {}
        Some(Lengths::Ends { head, .. }) => {
            machine.ask(head, &[inner], &mut failed.refused)?;
            if machine.alive() {
                machine.note_packet_written();
                done.push(machine.take_state());
            }
        }
        Some(Lengths::Stack { room, .. }) => {
            // The kernel goes on with what it knows: an IP packet behind an Ethernet header without tags.
            let tagged = machine.compare(CompareOp::Ne, start, i64::from(ETHERNET));
            machine.leave_if(tagged, &mut failed.refused);
            if !machine.alive() {
                return Ok(());
            }
            let link = room::read_link_at(machine, inner, ETHERNET)?;
            let kind = link[2];
            for (known, flags) in KINDS {
                let is = machine.compare(CompareOp::Eq, kind, known);
                let (is, other) = machine.split(is);
                machine.resume(is);
                if machine.alive() {
                    take_room(machine, room, (inner, flags), failed)?;
                    room::write_link(machine, 0, ETHERNET, &link)?;
                }
                if machine.alive() {
                    machine.note_packet_written();
                    done.push(machine.take_state());
                }
                machine.resume(other);
            }
            failed.refused.push(machine.take_state());
        }
        None => failed.refused.push(machine.take_state()),
    }
    Ok(())
}

/// Has the kernel take so many bytes away behind the link's header.
fn take_room<M: Machine>(
    machine: &mut M,
    room: u32,
    (bytes, flags): (Word, i64),
    failed: &mut Failed<M::State>,
) -> Result<(), M::Stop> {
    machine.leave_beyond_room(bytes, &mut failed.refused);
    let less = machine.sub(Word::Imm(0), bytes);
    machine.ask(room, &[less, AFTER_LINK.into(), flags.into()], &mut failed.refused)
}
