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
use moonhook_packet::protocols::{self, Answer, RefusedBy, kept_number};
use moonhook_packet::{Refused, Value};

pub const ROWS: &[Row] = &[row(ANSWER, answer)];

/// In general code, where arguments are in memory.
pub const PARTS: &[Row] = &[
    row(ANSWER_PARTS[0], make),
    row(ANSWER_PARTS[1], turn),
    row(ANSWER_PARTS[2], super::checksum::fix),
    row(ANSWER_PARTS[3], verdict),
    row(ANSWER_PARTS[4], check),
];

/// Makes an answer of the packet, or a part of it, and goes on where it could.
type Make<'a> = fn(&mut Context<'a>, &Answer, &mut RefusedBy<Context<'a>>) -> Result<()>;

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
        by_name(context, &Call { args, ..call.clone() }, protocols::answer)?;
        send_back(context)
    })
}

/// `(packet, address, ttl, rcode)`: the message becomes an answer.
fn make(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    by_name(context, call, protocols::make_message)?;
    returns(context, vec![])
}

/// `(packet)`, behind [`make`]: addresses and ports are exchanged.
fn turn(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    context.before_packet_write()?;
    protocols::turn_back(context)?;
    context.packet_written();
    returns(context, vec![])
}

/// `(packet)`, behind [`turn`].
fn verdict(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    send_back(context)
}

/// `(packet)`: an error where nothing can be answered.
fn check(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    returns(context, vec![])
}

/// `(packet, address, ttl, rcode)`.
fn by_name<'a>(context: &mut Context<'a>, call: &Call, make: Make<'a>) -> Result<()> {
    if changeable_subject(context, call).is_none() {
        return Ok(());
    }
    let known = addresses(context, call)?.into_iter().map(|(state, address)| {
        let values = Answer::record(address).map(Abs::Int).into();
        Arm { state, values }
    });
    // One answer, whichever address it is about: what follows is long.
    let Some(&[Abs::Int(kind), Abs::Int(high), Abs::Int(low)]) = context.join(known.collect())?.as_deref()
    else {
        return Ok(());
    };
    let ttl = call.number_or(context, (3, 32), Word::Imm(TTL), "field 'ttl': integer of 32 bits expected")?;
    let rcode = call.number_or(context, (4, 4), Word::Imm(0), "field 'rcode': integer of 4 bits expected")?;
    let mut refused = Refused::default();
    if context.state.alive() {
        context.before_packet_write()?;
        make(context, &Answer { kind, address: [high, low], ttl, rcode }, &mut refused)?;
        context.packet_written();
    }
    let done = context.take_state();
    context.enter(vec![done])?;
    context.fail_in(refused.absent, |context| {
        context.fail(Message::new("packet asks no question"));
        Ok(())
    })?;
    context.fail_length(refused.longer, true)?;
    context.fail_length(refused.shorter, false)
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
