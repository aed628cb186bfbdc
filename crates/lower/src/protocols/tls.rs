//! `pkt.tls`: a TLS ClientHello at the start of a TCP payload, and its server name (RFC 8446 § 4.1.2, RFC 6066 § 3).

use super::header::{Field, Protocol, absent};
use super::{network, tcp};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::state::State;
use crate::value::{Abs, Space, Str, Word};
use crate::ways::Arm;
use moonhook_ir::words::{Address, Words};
use moonhook_ir::{CompareOp, Size};

/// Record header (5), handshake header (4), version (2), random (32): the session id's length follows.
const SESSION: i64 = 43;

pub const PROTOCOL: Protocol = Protocol {
    name: "tls",
    find: |context| context.header_arms("tls", parse),
    fields: &[Field { name: "sni", read: sni }],
};

/// Words: is it a ClientHello, where the payload starts, where it ends.
fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let (state, words, others) = context.found("tcp", tcp::parse)?;
    let mut arms: Vec<Arm> = absent(others).collect();
    context.state = state;
    if !context.state.alive() {
        return Ok(arms);
    }
    let start = words[2];
    let (record, outside) = context.locate(start, 6);
    arms.extend(absent(outside));
    // Content type 22 (handshake) and major version 3; handshake type 1 (ClientHello).
    let head = context.load_at(record, Size::B2, false);
    let other = context.compare(CompareOp::Ne, head, 0x0316);
    let (other, handshake) = context.split(other);
    arms.extend(absent([other]));
    context.state = handshake;
    let kind = context.load_at(record.plus(5), Size::B1, false);
    let other = context.compare(CompareOp::Ne, kind, 1);
    let (other, hello) = context.split(other);
    arms.extend(absent([other]));
    context.state = hello;
    let words = context.known_header("ip", network::parse)?;
    let end = network::end(context, &words)?;
    let size = context.sub(end, start);
    let short = context.compare(CompareOp::SLt, size, 6);
    let (short, whole) = context.split(short);
    arms.extend(absent([short]));
    context.state = whole;
    let state = context.take_state();
    arms.push(Arm { state, values: [Word::Imm(1), start, end].map(Abs::Int).to_vec() });
    Ok(arms)
}

/// Reads while parsing are checked against the frame's end only: positions never go back, so one comparison of the last
/// position with the payload's end tells whether all of them were within it.
struct Reader<'w> {
    missing: &'w mut Vec<State>,
}

impl Reader<'_> {
    /// The address of `size` bytes; parsing ends where they are not in the frame.
    fn at(&mut self, context: &mut Context<'_>, position: Word, size: u32) -> Address {
        let (address, outside) = context.locate(position, size);
        self.missing.extend(outside);
        address
    }

    fn number(&mut self, context: &mut Context<'_>, position: Word, size: Size) -> Word {
        let address = self.at(context, position, size as u32);
        let word = context.load_at(address, size, false);
        context.host_order(word, size)
    }
}

fn sni(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let (state, words, none) = context.found("sni", server_name)?;
    let mut arms: Vec<Arm> = none.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }).collect();
    context.state = state;
    if context.state.alive() {
        let text = Str::Slice { space: Space::Packet, start: words[1], length: words[2] };
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Str(text)] });
    }
    Ok(arms)
}

/// Words: is there a server name, where it starts, how long it is.
fn server_name(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let words = context.known_header("tls", parse)?;
    let (start, end) = (words[1], words[2]);
    let mut missing = Vec::new();
    let mut reader = Reader { missing: &mut missing };
    let position = context.add(start, SESSION);
    let session = reader.number(context, position, Size::B1);
    let position = context.add(position, session);
    let position = context.add(position, 1);
    let ciphers = reader.number(context, position, Size::B2);
    let position = context.add(position, ciphers);
    let position = context.add(position, 2);
    let compressions = reader.number(context, position, Size::B1);
    let position = context.add(position, compressions);
    let position = context.add(position, 1);
    let extensions = reader.number(context, position, Size::B2);
    let position = context.add(position, 2);
    let limit = context.add(position, extensions);
    let found = find_server_name(context, position, limit)?;
    let mut arms = Vec::new();
    for arm in found {
        let (Some(Abs::Int(name)), Some(Abs::Int(length))) = (arm.values.first(), arm.values.get(1)) else {
            missing.push(arm.state);
            continue;
        };
        context.state = arm.state;
        let last = context.add(*name, *length);
        let beyond = context.compare(CompareOp::SGt, last, end);
        let (beyond, whole) = context.split(beyond);
        missing.push(beyond);
        arms.push(Arm { state: whole, values: [Word::Imm(1), *name, *length].map(Abs::Int).to_vec() });
    }
    arms.extend(absent(missing));
    Ok(arms)
}

/// Extensions that are looked at in one round of the loop, which is what a step of the budget pays for.
const EXTENSIONS_PER_ROUND: usize = 4;

/// Walks the extensions from `position`; ways that find a name carry its position and length, the others nothing.
fn find_server_name(context: &mut Context<'_>, position: Word, limit: Word) -> Result<Vec<Arm>> {
    context.repeat(&[position], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let mut position = variables[0];
        let (mut missing, mut named) = (Vec::new(), Vec::new());
        for _ in 0..EXTENSIONS_PER_ROUND {
            position = pass_extension(context, position, limit, &mut missing, &mut named);
        }
        iteration.again(context, vec![position]);
        if let Some([Abs::Int(position)]) = context.join(named)?.as_deref() {
            read_server_name(context, *position, &mut missing, &mut iteration);
        }
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

/// Looks at one extension: goes on behind it, or, to `named`, with its position if it is the server name.
fn pass_extension(
    context: &mut Context<'_>,
    position: Word,
    limit: Word,
    missing: &mut Vec<State>,
    named: &mut Vec<Arm>,
) -> Word {
    let over = context.compare(CompareOp::SGe, position, limit);
    let (over, within) = context.split(over);
    missing.push(over);
    context.state = within;
    let extension = Reader { missing }.at(context, position, 4);
    let kind = context.load_at(extension, Size::B2, false);
    let server_name = context.compare(CompareOp::Eq, kind, 0);
    let (server_name, other) = context.split(server_name);
    named.push(Arm { state: server_name, values: vec![Abs::Int(position)] });
    context.state = other;
    let length = context.load_at(extension.plus(2), Size::B2, false);
    let length = context.host_order(length, Size::B2);
    let next = context.add(length, 4);
    context.add(position, next)
}

/// The first entry of the list in the extension at `position`: list length (2 bytes), entry type (0: host name), name
/// length (2 bytes), name.
fn read_server_name(
    context: &mut Context<'_>,
    position: Word,
    missing: &mut Vec<State>,
    iteration: &mut Iteration,
) {
    let list = Reader { missing }.at(context, position, 9);
    let kind = context.load_at(list.plus(6), Size::B1, false);
    let length = context.load_at(list.plus(7), Size::B2, false);
    let length = context.host_order(length, Size::B2);
    for wrong in [context.compare(CompareOp::Ne, kind, 0), context.compare(CompareOp::Eq, length, 0)] {
        let (wrong, right) = context.split(wrong);
        missing.push(wrong);
        context.state = right;
    }
    let name = context.add(position, 9);
    iteration.leave(context, vec![Abs::Int(name), Abs::Int(length)]);
}
