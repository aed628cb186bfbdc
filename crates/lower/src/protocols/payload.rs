//! `pkt.payload`: what follows the transport header.

use super::header::{Protocol, absent};
use super::network;
use super::{icmp, tcp, udp};
use crate::context::{Context, Result};
use crate::value::{Abs, Space, Str, Word};
use crate::ways::Arm;
use moonhook_ir::UnaryOp;
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, Size};

pub const PROTOCOL: Protocol = Protocol { name: "payload", find: payload, fields: &[] };

fn payload(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let (state, words, absent) = context.found("payload", parse)?;
    context.state = state;
    let mut arms: Vec<Arm> = absent.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }).collect();
    if context.state.alive() {
        let text = Str::Slice { space: Space::Packet, start: words[1], length: words[2] };
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Str(text)] });
    }
    Ok(arms)
}

/// Words: is there a transport header, where its payload starts, how long it is.
pub fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    let (state, words, others) = context.found("tcp", tcp::parse)?;
    context.state = state;
    if context.state.alive() {
        arms.push(up_to_ip_end(context, words[2])?);
    }
    context.enter(others)?;
    let (state, words, others) = context.found("udp", udp::parse)?;
    context.state = state;
    if context.state.alive() {
        arms.push(udp_payload(context, words[1])?);
    }
    context.enter(others)?;
    let (state, words, others) = context.found("icmp", icmp::parse)?;
    context.state = state;
    if context.state.alive() {
        let start = context.add(words[1], i64::from(icmp::LENGTH));
        arms.push(up_to_ip_end(context, start)?);
    }
    arms.extend(absent(others));
    Ok(arms)
}

fn up_to_ip_end(context: &mut Context<'_>, start: Word) -> Result<Arm> {
    let words = context.known_header("ip", network::parse)?;
    let end = network::end(context, &words)?;
    between(context, start, end)
}

/// UDP's own length field, if it is at least the header's length, bounds the payload too.
fn udp_payload(context: &mut Context<'_>, header: Word) -> Result<Arm> {
    let words = context.known_header("ip", network::parse)?;
    let end = network::end(context, &words)?;
    let length = context.header_field(header, 4, Size::B2, udp::LENGTH)?;
    let stated = context.compare(CompareOp::UGe, length, i64::from(udp::LENGTH));
    let (stated, unstated) = context.split(stated);
    context.state = stated;
    let udp_end = context.add(header, length);
    let nearer = context.minimum(end, udp_end)?;
    let state = context.take_state();
    let arms = vec![
        Arm { state, values: vec![Abs::Int(nearer)] },
        Arm { state: unstated, values: vec![Abs::Int(end)] },
    ];
    let end = match context.join(arms)?.as_deref() {
        Some([Abs::Int(end)]) => *end,
        _ => end,
    };
    let start = context.add(header, i64::from(udp::LENGTH));
    between(context, start, end)
}

/// The bytes from `start` to `end`; none if the end comes first.
fn between(context: &mut Context<'_>, start: Word, end: Word) -> Result<Arm> {
    let length = context.sub(end, start);
    let length = context.maximum(length, Word::Imm(0))?;
    // Each way through the headers gives them other bounds; the verifier would walk what follows for each.
    let (start, length) = (context.unknown(start), context.unknown(length));
    let state = context.take_state();
    Ok(Arm { state, values: [Word::Imm(1), start, length].map(Abs::Int).to_vec() })
}

/// Where the payload of TCP or UDP starts; the frame's length without such a header. The low 16 bits.
pub fn payload_offset(context: &mut Context<'_>) -> Result<Word> {
    let mut arms = Vec::new();
    let (state, words, others) = context.found("tcp", tcp::parse)?;
    if state.alive() {
        arms.push(Arm { state, values: vec![Abs::Int(words[2])] });
    }
    context.enter(others)?;
    let (state, words, others) = context.found("udp", udp::parse)?;
    context.state = state;
    if context.state.alive() {
        let start = context.add(words[1], i64::from(udp::LENGTH));
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Int(start)] });
    }
    context.enter(others)?;
    if context.state.alive() {
        let length = context.packet_length();
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Int(length)] });
    }
    context.join_word(arms)
}

/// The handler's second argument, the first byte lowest: the payload's offset, big-endian.
pub fn argument_bytes(context: &mut Context<'_>) -> Result<Word> {
    let payload = payload_offset(context)?;
    Ok(context.unary(UnaryOp::Swap16, payload))
}
