//! `pkt:push_vlan(…)` and `pkt:pop_vlan()` (docs/packet.md, VLAN tags).

use super::call::{Call, Row, returns, row};
use super::lengths::changeable_subject;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::value::Word;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use moonhook_library::own::data::{POP_VLAN, PUSH_VLAN};
use moonhook_packet::{ChangeTags, Tag, Untagged};

pub const ROWS: &[Row] = &[row(PUSH_VLAN, push), row(POP_VLAN, pop)];

/// Types of tags: 802.1Q, which is meant by none, and 802.1ad.
const KINDS: [i64; 2] = [0x8100, 0x88a8];

/// `push_vlan(id [, priority [, type]])`.
fn push(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let id = call.integer(context, 2)?;
    let priority = call.integer_or(context, 3, Word::Imm(0))?;
    let kind = call.integer_or(context, 4, Word::Imm(KINDS[0]))?;
    for (number, word, bits) in [(2, id, 12), (3, priority, 3)] {
        let wrong = context.compare(CompareOp::UGt, word, (1 << bits) - 1);
        context.fail_if(wrong, |context| {
            call.argument_error(context, number, &format!("integer of {bits} bits expected"));
        });
    }
    let mut others = vec![context.take_state()];
    let mut right = Vec::new();
    for known in KINDS {
        context.enter(std::mem::take(&mut others))?;
        let is = context.compare(CompareOp::Eq, kind, known);
        let (is, other) = context.split(is);
        right.push(is);
        others.push(other);
    }
    context.fail_in(others, |context| {
        call.argument_error(context, 4, "0x8100 or 0x88a8 expected");
        Ok(())
    })?;
    context.enter(right)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    context.before_packet_write()?;
    let above = context.shl(priority, 13);
    let control = context.binary(BinaryOp::Or, above, id);
    let mut refused = Vec::new();
    context.push_tag(Tag { control, kind }, &mut refused)?;
    context.packet_written();
    context.fail_length(refused, true)?;
    returns(context, vec![])
}

fn pop(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    context.before_packet_write()?;
    let mut failed = Untagged::default();
    context.pop_tag(&mut failed)?;
    context.packet_written();
    context.fail_in(failed.none, |context| {
        context.fail(Message::new("packet has no VLAN tag"));
        Ok(())
    })?;
    context.fail_length(failed.refused, false)?;
    returns(context, vec![])
}
