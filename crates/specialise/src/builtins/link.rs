//! The header of the link, at hooks whose packets begin behind it.

use super::call::{Call, Row, row};
use super::data::subject;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size, Value};
use moonhook_library::own::data::LINK;
use moonhook_packet::Machine as _;

pub const ROWS: &[Row] = &[row(LINK, link)];

/// Bytes of Ethernet's header, and of the IP header behind it that are compared.
const ETHERNET: i64 = 14;
const COMPARED: i64 = 20;

/// Where they are in memory, so that both are read by aligned words; and where the IP header is read to a second time.
const LINK_AT: i64 = 2;
const BEHIND_AT: i64 = LINK_AT + ETHERNET;
const NETWORK_AT: i64 = 40;

/// `BPF_HDR_START_MAC` and `BPF_HDR_START_NET` (include/uapi/linux/bpf.h).
const FROM_LINK: i64 = 0;
const FROM_NETWORK: i64 = 1;

/// The header of the link: what stands in front of the IP header, where that is as long as Ethernet's. The kernel does not say how long it is, but the packet's first bytes
/// stand behind it.
fn link(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let Some(load) = context.target.hook.link_reader() else { return context.only(Abs::text("")) };
    let program = context.program_context();
    let memory = context.scratch((NETWORK_AT + COMPARED) as u32);
    context.store(memory, 0, Size::B8, 0);
    let mut others = Vec::new();
    for (at, length, from) in
        [(LINK_AT, ETHERNET + COMPARED, FROM_LINK), (NETWORK_AT, COMPARED, FROM_NETWORK)]
    {
        let to = context.add(memory, at);
        let failed = context.helper(load, &[program, Word::Imm(0), to, Word::Imm(length), Word::Imm(from)]);
        let failed = context.compare(CompareOp::Ne, failed, 0);
        context.leave_if(failed, &mut others);
    }
    for (at, size) in [(0, Size::B8), (8, Size::B8), (16, Size::B4)] {
        let behind = context.load(memory, (BEHIND_AT + at) as i16, size, false);
        let first = context.load(memory, (NETWORK_AT + at) as i16, size, false);
        let other = context.compare(CompareOp::Ne, behind, first);
        context.leave_if(other, &mut others);
    }
    let mut arms = Vec::new();
    if context.state.alive() {
        let text = link_text(context, memory)?;
        arms.extend(context.only(Abs::Str(text))?);
    }
    context.enter(others)?;
    arms.extend(context.only(Abs::text(""))?);
    Ok(arms)
}

/// The string of Ethernet's header in memory.
fn link_text(context: &mut Context<'_>, memory: Value) -> Result<Str> {
    let [first, last] = [0, 8].map(|at| context.load(memory, at, Size::B8, false));
    let (low, high) = (context.shr(first, 8 * LINK_AT), context.shl(last, 64 - 8 * LINK_AT));
    let first = context.binary(BinaryOp::Or, low, high);
    let start = context.allocate(Word::Imm(16))?;
    for (at, word) in [(0, first), (ETHERNET - 8, last)] {
        let place = context.add(start, at);
        let place = context.address(Space::Scratch, place, 8)?;
        context.store(place.base, place.disp, Size::B8, word);
    }
    Ok(Str::Slice { space: Space::Scratch, start, length: Word::Imm(ETHERNET) })
}
