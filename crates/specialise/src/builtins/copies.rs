//! Copies of packets at netfilter ([`moonhook_library::own::copies`]): strings that are written to.
//!
//! A buffer is a string in scratch memory, of which there is no other name: whatever is read of it is copied, so that no string of the script's changes.

use super::call::{Call, Row, returns, row, rows};
use super::data::{size_of, subject};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Space, Str, Word};
use moonhook_hook::NETFILTER;
use moonhook_ir::kernel_field::{DEVICE_NUMBER, SKB_DATA, SKB_DEVICE, SKB_HEAD, SKB_LINK};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, Size, UnaryOp, helper};
use moonhook_library::own::Width;
use moonhook_library::own::copies::{
    AGAIN, BYTES, CLEAR, DEVICE, KEPT, LINK, MAKE, PEEKS, POKES, PUT, ROOM, SEND, SENT, SUM,
};
use moonhook_packet::{Access as _, Checksum as _, Machine as _};

pub const ROWS: [&[Row]; 3] = [
    &[
        row(MAKE, make),
        row(AGAIN, again),
        row(DEVICE, device),
        row(BYTES, bytes),
        row(PUT, put),
        row(CLEAR, clear),
        row(SUM, sum),
        row(SEND, send),
    ],
    &rows(PEEKS, peek),
    &rows(POKES, poke),
];

/// What `struct sk_buff` has as the place of a link's header that is not known (`skb_mac_header_was_set`, include/linux/skbuff.h).
const UNSET: i64 = 0xffff;

/// Where `struct bpf_nf_ctx` has the packet's address.
const PACKET: i16 = 8;

/// Ways of going on in a sum: so many bytes at once.
const STEPS: [Size; 3] = [Size::B8, Size::B2, Size::B1];

/// The buffer that is the first argument.
fn buffer(context: &mut Context<'_>, call: &Call) -> Result<Option<Slice>> {
    let Some(text) = call.string(context, 1)? else { return Ok(None) };
    context.slice_of(&text).map(Some)
}

fn packet_of(context: &mut Context<'_>) -> Word {
    let program = context.program_context();
    let program = context.value(program);
    context.load(program, PACKET, Size::B8, false)
}

/// The packet's first bytes, behind those of the link.
fn make(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let length = context.packet_length();
    let kept = context.smaller(length, Word::Imm(KEPT));
    let all = context.add(kept, LINK + ROOM);
    let rounded = context.add(all, 7);
    let rounded = context.and(rounded, !7);
    let start = context.allocate(rounded)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let link = put_link(context, start)?;
    let first = context.add(start, LINK);
    let packet = Slice::plain(Space::Packet, Word::Imm(0), kept);
    context.copy_slice(packet, &mut |context, at| {
        let place = context.add(first, at);
        context.address(Space::Scratch, place, 8)
    })?;
    let buffer = Str::Slice { space: Space::Scratch, start, length: all };
    returns(context, vec![Abs::Str(buffer), Abs::Int(link)])
}

/// Writes the bytes in front of the packet, the last of which are the link's header; gives how many these are.
fn put_link(context: &mut Context<'_>, start: Word) -> Result<Word> {
    if *context.target.hook != NETFILTER {
        return Ok(Word::Imm(-1));
    }
    let packet = packet_of(context);
    let packet = context.value(packet);
    let [head, data, link] =
        [&SKB_HEAD, &SKB_DATA, &SKB_LINK].map(|field| context.kernel_field(packet, field));
    let bytes = context.scratch(LINK as u32);
    let from = context.sub(data, LINK);
    // What cannot be read is zeros.
    context.helper(helper::PROBE_READ_KERNEL, &[bytes.into(), Word::Imm(LINK), from]);
    for at in (0..LINK).step_by(8) {
        let word = context.load(bytes, at as i16, Size::B8, false);
        let place = context.add(start, at);
        let address = context.address(Space::Scratch, place, 8)?;
        context.store(address.base, address.disp, Size::B8, word);
    }
    let unset = context.compare(CompareOp::Eq, link, UNSET);
    let (unset, set) = context.split(unset);
    context.state = set;
    let before = context.sub(data, head);
    let count = context.sub(before, link);
    let far = context.compare(CompareOp::UGt, count, LINK);
    let (far, near) = context.split(far);
    context.state = far;
    let far = context.take_state();
    context.enter(vec![unset, far])?;
    let none = context.take_state();
    let count = context.either(none, Word::Imm(-1), near, count)?;
    Ok(context.unknown(count))
}

fn again(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(buffer) = buffer(context, call)? else { return Ok(vec![]) };
    copied(context, buffer)
}

fn copied(context: &mut Context<'_>, slice: Slice) -> Result<Vec<Arm>> {
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let copy = context.copied(slice.text())?;
    returns(context, vec![Abs::Str(copy)])
}

/// `skb->dev->ifindex`.
fn device(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let mut found = Word::Imm(0);
    if *context.target.hook == NETFILTER {
        found = packet_of(context);
        for field in [&SKB_DEVICE, &DEVICE_NUMBER] {
            let base = context.value(found);
            found = context.kernel_field(base, field);
        }
    }
    context.only(Abs::Int(found))
}

/// The part of the buffer that the second and the third argument are about.
fn part(context: &mut Context<'_>, call: &Call) -> Result<Option<Slice>> {
    let Some(buffer) = buffer(context, call)? else { return Ok(None) };
    let (offset, length) = (call.integer(context, 2)?, call.integer(context, 3)?);
    let start = context.add(buffer.start, offset);
    Ok(context.state.alive().then_some(Slice { start, length, ..buffer }))
}

fn bytes(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(part) = part(context, call)? else { return Ok(vec![]) };
    copied(context, part)
}

/// Whole words first, then single bytes: what is behind the string stays as it is.
fn put(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(buffer) = buffer(context, call)? else { return Ok(vec![]) };
    let offset = call.integer(context, 2)?;
    let Some(text) = call.string(context, 3)? else { return Ok(vec![]) };
    // It may be of the packet, of which a program can only tell single bytes apart by where they are.
    let text = context.copied(text)?;
    let text = context.slice_of(&text)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let to = context.add(buffer.start, offset);
    fill(context, (to, text.length), &mut |context, at, size| {
        let place = context.add(text.start, at);
        let address = context.address(text.space, place, size as u32)?;
        Ok(context.load_at(address, size, false))
    })
}

fn clear(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(part) = part(context, call)? else { return Ok(vec![]) };
    fill(context, (part.start, part.length), &mut |_, _, _| Ok(Word::Imm(0)))
}

/// Writes so many bytes from a place on: words and bytes that `word` gives for their offset.
fn fill(
    context: &mut Context<'_>,
    (to, length): (Word, Word),
    word: &mut dyn FnMut(&mut Context<'_>, Word, Size) -> Result<Word>,
) -> Result<Vec<Arm>> {
    let arms = context.repeat(&[Word::Imm(0)], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let at = variables[0];
        let left = context.sub(length, at);
        for size in [Size::B8, Size::B1] {
            let enough = context.compare(CompareOp::SGe, left, size as i64);
            let (enough, less) = context.split(enough);
            context.state = enough;
            if context.state.alive() {
                let value = word(context, at, size)?;
                let place = context.add(to, at);
                let address = context.address(Space::Scratch, place, size as u32)?;
                context.store(address.base, address.disp, size, value);
                let next = context.add(at, size as i64);
                iteration.again(context, vec![next]);
            }
            context.state = less;
        }
        let done = context.take_state();
        iteration.leave_in(done, vec![]);
        Ok(iteration)
    })?;
    context.join(arms)?;
    returns(context, vec![])
}

fn sum(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(part) = part(context, call)? else { return Ok(vec![]) };
    let more = call.integer(context, 4)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let sum = sum_of(context, part)?;
    let folded = context.fold_sum(sum);
    // Sums of words in the other order are the same in the other order (RFC 1071 § 2 B).
    let folded = context.unary(UnaryOp::Swap16, folded);
    let all = context.add(folded, more);
    let checksum = context.checksum_of(all);
    context.only(Abs::Int(checksum))
}

/// The sum of words of 16 bits as they are in memory, below 2^48; a last single byte is followed by a zero.
fn sum_of(context: &mut Context<'_>, part: Slice) -> Result<Word> {
    let arms = context.repeat(&[Word::Imm(0), Word::Imm(0)], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let &[at, sum] = variables else { return Ok(iteration) };
        let left = context.sub(part.length, at);
        for size in STEPS {
            let enough = context.compare(CompareOp::SGe, left, size as i64);
            let (enough, less) = context.split(enough);
            context.state = enough;
            if context.state.alive() {
                let place = context.add(part.start, at);
                let address = context.address(part.space, place, size as u32)?;
                let mut word = context.load_at(address, size, false);
                if size == Size::B8 {
                    word = context.halves(word);
                }
                let (next, sum) = (context.add(at, size as i64), context.add(sum, word));
                iteration.again(context, vec![next, sum]);
            }
            context.state = less;
        }
        let done = context.take_state();
        iteration.leave_in(done, vec![Abs::Int(sum)]);
        Ok(iteration)
    })?;
    context.join_word(arms)
}

fn send(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(part) = part(context, call)? else { return Ok(vec![]) };
    let device = call.integer(context, 4)?;
    if context.state.alive() {
        context.send_event(&[Abs::text(SENT), Abs::Int(device), Abs::Str(part.text())])?;
    }
    returns(context, vec![])
}

fn width_of(rows: &[(&str, Width)], name: &str) -> Size {
    rows.iter().find(|(known, _)| *known == name).map_or(Size::B1, |(_, width)| size_of(*width))
}

fn peek(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(buffer) = buffer(context, call)? else { return Ok(vec![]) };
    let offset = call.integer(context, 2)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let size = width_of(&PEEKS, call.name);
    let place = context.add(buffer.start, offset);
    let address = context.address(buffer.space, place, size as u32)?;
    let value = context.load_at(address, size, false);
    context.only(Abs::Int(value))
}

fn poke(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(buffer) = buffer(context, call)? else { return Ok(vec![]) };
    let (offset, value) = (call.integer(context, 2)?, call.integer(context, 3)?);
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let size = width_of(&POKES, call.name);
    let place = context.add(buffer.start, offset);
    let address = context.address(buffer.space, place, size as u32)?;
    context.store(address.base, address.disp, size, value);
    returns(context, vec![])
}
