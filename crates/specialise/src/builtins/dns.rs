//! `dns.answer(pkt, {…})`: a question that becomes its answer (docs/packet.md, Answers to questions).

use super::call::{Call, Row, returns, row};
use super::lengths::changeable_subject;
use super::named::{is_record, spread};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_hook::TC_EGRESS;
use moonhook_ir::helper::REDIRECT;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_library::own::dns::{ANSWER, ANSWER_PARTS};
use moonhook_packet::protocols::{self, Answer, kept_number};
use moonhook_packet::{Refused, Value};

pub const ROWS: &[Row] = &[row(ANSWER, answer)];

/// In general code, where arguments are in memory.
pub const PARTS: &[Row] = &[row(ANSWER_PARTS[0], by_name), row(ANSWER_PARTS[1], check)];

/// Seconds for which an answer may be kept if nothing else is wanted.
const TTL: i64 = 60;

/// The flag of `bpf_redirect` with which a packet comes in by an interface (`BPF_F_INGRESS`).
const INGRESS: i64 = 1;

fn answer(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    if !is_record(&call.arg(2)) {
        call.wrong_type(context, 2, "table");
        return Ok(vec![]);
    }
    spread(context, &call.arg(2), &["address", "ttl", "rcode"], vec![call.arg(1)], &mut |context, args| {
        by_name(context, &Call { args, ..call.clone() })
    })
}

/// `(packet)`: an error where nothing can be answered.
fn check(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    returns(context, vec![])
}

/// `(packet, address, ttl, rcode)`.
fn by_name(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let mut refused = Refused::default();
    let mut done = Vec::new();
    for (state, address) in addresses(context, call)? {
        context.state = state;
        let ttl =
            call.number_or(context, (3, 32), Word::Imm(TTL), "field 'ttl': integer of 32 bits expected")?;
        let rcode =
            call.number_or(context, (4, 4), Word::Imm(0), "field 'rcode': integer of 4 bits expected")?;
        if context.state.alive() {
            context.before_packet_write()?;
            protocols::answer(context, &Answer { address, ttl, rcode }, &mut refused)?;
            context.packet_written();
            done.push(context.take_state());
        }
    }
    context.enter(done)?;
    context.fail_in(refused.absent, |context| {
        context.fail(Message::new("packet asks no question"));
        Ok(())
    })?;
    context.fail_length(refused.longer, true)?;
    context.fail_length(refused.shorter, false)?;
    send_back(context)
}

/// The states in which argument 2 is an address, or nil; an error in the others.
fn addresses(context: &mut Context<'_>, call: &Call) -> Result<Vec<(State, Option<Value>)>> {
    let none = call.leave_if_nil(context, 2)?;
    let (found, others) = call.address(context, 2)?;
    call.field_error_in(context, others, "field 'address': IP address expected")?;
    let none = none.into_iter().map(|state| (state, None));
    Ok(found.into_iter().map(|(state, address)| (state, Some(address))).chain(none).collect())
}

/// Gives the verdict with which the packet goes back to where it came from.
fn send_back(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let hook = context.target.hook;
    let verdict = match (hook.plain_verdict("TX"), hook.redirect()) {
        (Some(verdict), _) => verdict,
        (None, Some(verdict)) => {
            let number = kept_number(context, "ifindex").unwrap_or(Word::Imm(0));
            let flags = if hook.name == TC_EGRESS.name { INGRESS } else { 0 };
            context.helper(REDIRECT, &[number, Word::Imm(flags)]);
            verdict
        }
        (None, None) => 0,
    };
    context.only(Abs::Int(Word::Imm(verdict.into())))
}
