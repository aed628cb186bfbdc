//! IPv6 extension headers (RFC 8200 § 4). Few packets have any: passing over them is a function of its own, except in code
//! that works on a copy of the frame, which the function does not know, and where there is no stack for it.

use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::state::State;
use crate::value::{Abs, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// The most extension headers that are passed over.
const MAX_EXTENSIONS: i64 = 8;

/// A mask that no place behind the extension headers exceeds: eight of at most 2,048 bytes after the fixed headers. Said to
/// the verifier so, the place needs no further checks.
const FURTHEST: i64 = 0x7fff;

/// Where passing over them ended.
pub struct Behind {
    /// Where what follows starts.
    pub next: Word,
    /// What that is.
    pub protocol: Word,
    /// Bits 3 to 15: the fragment's offset; bit 0: more fragments. 0 without a fragment header.
    pub flags: Word,
    /// Where the last fragment header starts; 0 without one.
    pub fragment: Word,
}

/// Bits of the function's result: `next` below, then `protocol`, `fragment` and `flags`.
const PROTOCOL: i64 = 16;
const FRAGMENT: i64 = 24;
const FLAGS: i64 = 40;

/// Passes over the extension headers that start at `next` with one of type `protocol`. The current state goes on.
pub fn pass_over(context: &mut Context<'_>, next: Word, protocol: Word) -> Result<Behind> {
    let packed = if context.copy.is_some() || !context.options.subprograms {
        to_last(context, next, protocol)?
    } else {
        let function = context.subprogram("ipv6_extensions", 2, |context, parameters| {
            let &[next, protocol] = parameters else { return Ok(()) };
            // What is passed are sums and bytes of the frame, of which the function knows nothing.
            let (next, protocol) = (context.and(next, FURTHEST), context.and(protocol, 0xff));
            let packed = to_last(context, next, protocol)?;
            context.give(packed);
            Ok(())
        })?;
        let program = context.code.function.params[0].into();
        context.call_function(function, &[program, next, protocol])
    };
    let part = |context: &mut Context<'_>, shift: i64, mask: i64| {
        let part = context.shr(packed, shift);
        context.and(part, mask)
    };
    Ok(Behind {
        next: part(context, 0, FURTHEST),
        protocol: part(context, PROTOCOL, 0xff),
        flags: part(context, FLAGS, 0xffff),
        fragment: part(context, FRAGMENT, 0xffff),
    })
}

/// The extension headers that are passed over: hop-by-hop 0, routing 43, fragment 44, authentication 51, destination
/// options 60, mobility 135.
const EXTENSIONS: [i64; 6] = [0, 43, 44, 51, 60, 135];

/// Splits off, with one branch, what may be an extension header: a bit for each number, of which those that are the same modulo 64
/// share one, because shifts count so. TCP, UDP and ICMPv6 share none with an extension header.
pub fn split_suspects(context: &mut Context<'_>, protocol: Word) -> (State, State) {
    let set = EXTENSIONS.iter().fold(0, |set, number| set | 1 << (number & 63));
    let bits = context.binary(BinaryOp::LShr, Word::Imm(set), protocol);
    let suspect = context.compare(CompareOp::Test, bits, 1);
    let (suspect, plain) = context.split(suspect);
    if let Some(block) = suspect.block {
        context.code.function.block_mut(block).cold = true;
    }
    (suspect, plain)
}

/// Splits off the ways on which the number is that of an extension header.
pub fn split_extension(context: &mut Context<'_>, protocol: Word) -> (Vec<State>, State) {
    let mut extended = Vec::new();
    for number in EXTENSIONS {
        let is = context.compare(CompareOp::Eq, protocol, number);
        let (is, other) = context.split(is);
        extended.push(is);
        context.state = other;
    }
    (extended, context.take_state())
}

/// Gives next, protocol, fragment and flags in one word.
fn to_last(context: &mut Context<'_>, next: Word, protocol: Word) -> Result<Word> {
    // The fragment header and the flags as they are in the result.
    let initial = [next, protocol, Word::Imm(0), Word::Imm(MAX_EXTENSIONS)];
    let arms = context.repeat(&initial, &mut |context, variables| {
        let mut iteration = Iteration::default();
        let [next, protocol, seen, left] = *variables else { return Ok(iteration) };
        let end = |next: Word, protocol: Word, seen: Word| [next, protocol, seen].map(Abs::Int).to_vec();
        let stopped = end(next, protocol, seen);
        let done = context.compare(CompareOp::SLe, left, 0);
        let (done, going) = context.split(done);
        iteration.leave_in(done, stopped.clone());
        context.state = going;
        let (extended, plain) = split_extension(context, protocol);
        iteration.leave_in(plain, stopped.clone());
        context.enter(extended)?;
        let (header, outside) = context.locate(next, 8);
        outside.into_iter().for_each(|state| iteration.leave_in(state, stopped.clone()));
        let length = extension_length(context, protocol, header)?;
        let after = context.add(next, length);
        let (_, outside) = context.locate(after, 0);
        outside.into_iter().for_each(|state| iteration.leave_in(state, stopped.clone()));
        let following = context.load_at(header, Size::B1, false);
        let left = context.sub(left, 1);
        let fragment = context.compare(CompareOp::Eq, protocol, 44);
        let (fragment, other) = context.split(fragment);
        context.state = other;
        iteration.again(context, vec![after, following, seen, left]);
        context.state = fragment;
        let flags = context.load_at(header.plus(2), Size::B2, false);
        let flags = context.host_order(flags, Size::B2);
        let seen = join_bits(context, &[(next, FRAGMENT), (flags, FLAGS)]);
        let offset = context.and(flags, 0xfff8);
        let later = context.compare(CompareOp::Ne, offset, 0);
        let (later, first) = context.split(later);
        iteration.leave_in(later, end(after, following, seen));
        context.state = first;
        iteration.again(context, vec![after, following, seen, left]);
        Ok(iteration)
    })?;
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(next), Abs::Int(protocol), Abs::Int(seen)]) => {
            join_bits(context, &[(*next, 0), (*protocol, PROTOCOL), (*seen, 0)])
        }
        _ => Word::Imm(0),
    })
}

/// The words, each shifted to the left, as one.
fn join_bits(context: &mut Context<'_>, parts: &[(Word, i64)]) -> Word {
    parts.iter().fold(Word::Imm(0), |all, (word, shift)| {
        let word = context.shl(*word, *shift);
        context.binary(BinaryOp::Or, word, all)
    })
}

/// Bytes of an extension header: (n + 1) × 8; authentication (n + 2) × 4; fragment 8.
fn extension_length(
    context: &mut Context<'_>,
    protocol: Word,
    header: moonhook_ir::words::Address,
) -> Result<Word> {
    let stated = context.load_at(header.plus(1), Size::B1, false);
    let mut arms = Vec::new();
    let fragment = context.compare(CompareOp::Eq, protocol, 44);
    let (fragment, other) = context.split(fragment);
    arms.push(Arm { state: fragment, values: vec![Abs::int(8)] });
    context.state = other;
    let authentication = context.compare(CompareOp::Eq, protocol, 51);
    let (authentication, other) = context.split(authentication);
    context.state = authentication;
    let length = context.add(stated, 2);
    let length = context.shl(length, 2);
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Int(length)] });
    context.state = other;
    let length = context.add(stated, 1);
    let length = context.shl(length, 3);
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Int(length)] });
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(length)]) => *length,
        _ => Word::Imm(8),
    })
}
