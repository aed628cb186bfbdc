//! `pkt:grow(…)` and `pkt:shrink(…)` (docs/packet.md, Longer and shorter packets).

use super::call::{Call, Row, returns, row};
use super::data::subject;
use crate::context::{Context, Result};
use crate::names;
use crate::paths::Arm;
use crate::value::{Object, Str, Word};
use moonhook_hook::lengths::LEAST;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_library::own::data::{GROW, SHRINK};
use moonhook_packet::{Access, ChangeLength, End, MAX_FRAME};

pub const ROWS: &[Row] = &[row(GROW, change), row(SHRINK, change)];

/// The ends by their names; the first is the one that is meant by none.
const ENDS: [(&str, End); 2] = [("tail", End::Tail), ("head", End::Head)];

/// The object of a method that changes the length of packets, where that can be done.
pub fn changeable_subject(context: &mut Context<'_>, call: &Call) -> Option<()> {
    if subject(context, call)? == Object::Argument {
        call.argument_error(context, 1, "read only");
        return None;
    }
    if context.target.hook.lengths.is_none() {
        let message = format!("packets cannot change their length at {}", context.target.hook.name);
        let help = "packets can become longer and shorter at `xdp` and at `tc`";
        context.certain_error(message, names::text(&call.called), help);
        return None;
    }
    Some(())
}

/// `grow(n [, end])`, `shrink(n [, end])`.
fn change(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let grows = call.name == GROW;
    let bytes = call.integer(context, 2)?;
    let ways = ends(context, call)?;
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for (state, end) in ways {
        context.state = state;
        check_bytes(context, call, grows, bytes);
        let nothing = context.compare(CompareOp::Eq, bytes, 0);
        context.leave_if(nothing, &mut done);
        if !context.state.alive() {
            continue;
        }
        context.before_packet_write()?;
        match grows {
            true => context.grow(end, bytes, &mut refused)?,
            false => context.shrink(end, bytes, &mut refused)?,
        }
        context.packet_written();
        done.push(context.take_state());
    }
    context.enter(done)?;
    context.fail_length(refused, grows)?;
    returns(context, vec![])
}

/// Goes on where the number is one of bytes that a packet can have, or that can be taken away from this one.
fn check_bytes(context: &mut Context<'_>, call: &Call, grows: bool, bytes: Word) {
    if !context.state.alive() {
        return;
    }
    let wrong = context.compare(CompareOp::UGt, bytes, MAX_FRAME);
    context.fail_if(wrong, |context| call.argument_error(context, 2, "out of bounds"));
    if !grows {
        let length = context.packet_length();
        let most = context.sub(length, LEAST);
        let wrong = context.compare(CompareOp::SGt, bytes, most);
        context.fail_if(wrong, |context| call.argument_error(context, 2, "out of bounds"));
    }
}

/// Which end argument 3 names: a state for each.
fn ends(context: &mut Context<'_>, call: &Call) -> Result<Vec<(crate::state::State, End)>> {
    let (default, meant) = ENDS[0];
    let Some(name) = call.string_or(context, 3, default)? else { return Ok(vec![]) };
    if name == Str::Const(default.as_bytes().into()) {
        return Ok(vec![(context.take_state(), meant)]);
    }
    let mut ways = Vec::new();
    for (known, end) in ENDS {
        let (equal, other) = context.split_equal(&name, &Str::Const(known.as_bytes().into()))?;
        context.enter(equal)?;
        ways.push((context.take_state(), end));
        context.enter(other)?;
    }
    if context.state.alive() {
        call.argument_error(context, 3, "\"head\" or \"tail\" expected");
    }
    Ok(ways)
}
