//! `pkt:encap(…)` and `pkt:decap()` (docs/packet.md, IP in IP).

use super::call::{Call, Row, returns, row};
use super::lengths::changeable_subject;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::state::State;
use crate::value::Word;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_library::own::data::{DECAP, ENCAP};
use moonhook_packet::Value;
use moonhook_packet::protocols::{self, Failed};

pub const ROWS: &[Row] = &[row(ENCAP, encap), row(DECAP, decap)];

/// What the outer header has if nothing else is wanted (RFC 1700, the number of hops that is recommended).
const TTL: i64 = 64;

/// `encap(src, dst [, ttl])`.
fn encap(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let (mut done, mut failed, mut none, mut mixed) = (vec![], Failed::default(), [vec![], vec![]], vec![]);
    let (sources, others) = call.address(context, 2)?;
    none[0].extend(others);
    for (state, source) in sources {
        context.state = state;
        let (targets, others) = call.address(context, 3)?;
        none[1].extend(others);
        for (state, target) in targets {
            context.state = state;
            let ttl = call.integer_or(context, 4, Word::Imm(TTL))?;
            if matches!(source, Value::Ipv4(_)) != matches!(target, Value::Ipv4(_)) {
                mixed.push(context.take_state());
                continue;
            }
            let wrong = context.compare(CompareOp::UGt, ttl, 0xff);
            context.fail_if(wrong, |context| call.argument_error(context, 4, "integer of 8 bits expected"));
            if context.state.alive() {
                context.before_packet_write()?;
                protocols::encap(context, [source, target], ttl, &mut failed)?;
                context.packet_written();
                done.push(context.take_state());
            }
        }
    }
    for (number, states) in (2..).zip(none) {
        argument_error_in(context, call, states, (number, "IP address expected"))?;
    }
    argument_error_in(context, call, mixed, (3, "address of the same IP version expected"))?;
    context.enter(done)?;
    error_in(context, failed.none, "packet has no IP header")?;
    context.fail_length(failed.refused, true)?;
    returns(context, vec![])
}

fn argument_error_in(
    context: &mut Context<'_>,
    call: &Call,
    states: Vec<State>,
    (number, problem): (usize, &str),
) -> Result<()> {
    context.fail_in(states, |context| {
        call.argument_error(context, number, problem);
        Ok(())
    })
}

fn error_in(context: &mut Context<'_>, states: Vec<State>, message: &str) -> Result<()> {
    context.fail_in(states, |context| {
        context.fail(Message::new(message));
        Ok(())
    })
}

fn decap(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    context.before_packet_write()?;
    let mut failed = Failed::default();
    protocols::decap(context, &mut failed)?;
    context.packet_written();
    error_in(context, failed.none, "packet carries no IP packet")?;
    context.fail_length(failed.refused, false)?;
    returns(context, vec![])
}
