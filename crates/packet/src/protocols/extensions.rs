//! IPv6 extension headers (RFC 8200 § 4). Few packets have any: passing over them is a function of its own, except in code
//! that works on a copy of the frame, which the function does not know, and where there is no stack for it.

use crate::{Access, Machine, Scattered};
use moonhook_ir::words::{Address, Iteration, Path, PathState, Word};
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
pub fn pass_over<M: Machine>(machine: &mut M, next: Word, protocol: Word) -> Result<Behind, M::Stop> {
    let function = match machine.copy() {
        Some(_) => None,
        None => machine.apart("ipv6_extensions", 2, pass_over_apart)?,
    };
    let packed = match function {
        Some(function) => {
            let context = machine.program_context();
            machine.call_function(function, &[context, next, protocol])
        }
        None => machine.with_whole_copy(|machine| to_last(machine, next, protocol))?,
    };
    let part = |machine: &mut M, shift: i64, mask: i64| {
        let part = machine.shr(packed, shift);
        machine.and(part, mask)
    };
    Ok(Behind {
        next: part(machine, 0, FURTHEST),
        protocol: part(machine, PROTOCOL, 0xff),
        flags: part(machine, FLAGS, 0xffff),
        fragment: part(machine, FRAGMENT, 0xffff),
    })
}

fn pass_over_apart<M: Machine>(machine: &mut M, parameters: &[Word]) -> Result<(), M::Stop> {
    let &[next, protocol] = parameters else { return Ok(()) };
    // What is passed are sums and bytes of the frame, of which the function knows nothing.
    let (next, protocol) = (machine.and(next, FURTHEST), machine.and(protocol, 0xff));
    let packed = to_last(machine, next, protocol)?;
    machine.give(packed);
    Ok(())
}

/// Hop-by-hop options.
pub const HOP_BY_HOP: i64 = 0;

/// The extension headers that are passed over; behind the first one routing 43, fragment 44, authentication 51, destination
/// options 60, mobility 135.
const EXTENSIONS: [i64; 6] = [HOP_BY_HOP, 43, 44, 51, 60, 135];

/// Splits off, with one branch, what may be an extension header: a bit for each number, of which those that are the same modulo 64
/// share one, because shifts count so. TCP, UDP and ICMPv6 share none with an extension header.
pub fn split_suspects<M: Machine>(machine: &mut M, protocol: Word) -> (M::State, M::State) {
    let set = EXTENSIONS.iter().fold(0, |set, number| set | 1 << (number & 63));
    let bits = machine.binary(BinaryOp::LShr, Word::Imm(set), protocol);
    let suspect = machine.compare(CompareOp::Test, bits, 1);
    let (suspect, plain) = machine.split(suspect);
    if let Some(block) = suspect.block() {
        machine.code_mut().function.block_mut(block).cold = true;
    }
    (suspect, plain)
}

/// Splits off the paths on which the number is that of an extension header.
pub fn split_extension<M: Machine>(machine: &mut M, protocol: Word) -> (Vec<M::State>, M::State) {
    let mut extended = Vec::new();
    for number in EXTENSIONS {
        let is = machine.compare(CompareOp::Eq, protocol, number);
        let (is, other) = machine.split(is);
        extended.push(is);
        machine.resume(other);
    }
    (extended, machine.take_state())
}

/// Extension headers that were passed over.
pub struct Extended {
    /// Where they start, and what the first of them is.
    pub first: Word,
    pub protocol: Word,
    /// Where they end.
    pub next: Word,
}

/// Whether there is a routing header among them that names another destination than the IP header (RFC 8200 § 4.4): a number, 0 if not.
pub fn has_detour<M: Machine>(machine: &mut M, extended: Extended) -> Result<Word, M::Stop> {
    let Extended { first, protocol, next } = extended;
    let function = match machine.copy() {
        Some(_) => None,
        None => machine.apart("ipv6_detour", 3, detour_apart)?,
    };
    match function {
        Some(function) => {
            let context = machine.program_context();
            Ok(machine.call_function(function, &[context, first, protocol, next]))
        }
        None => machine.with_whole_copy(|machine| detour(machine, first, protocol, next)),
    }
}

fn detour_apart<M: Machine>(machine: &mut M, parameters: &[Word]) -> Result<(), M::Stop> {
    let &[first, protocol, next] = parameters else { return Ok(()) };
    let (first, next) = (machine.and(first, FURTHEST), machine.and(next, FURTHEST));
    let protocol = machine.and(protocol, 0xff);
    let found = detour(machine, first, protocol, next)?;
    machine.give(found);
    Ok(())
}

fn detour<M: Machine>(machine: &mut M, first: Word, protocol: Word, next: Word) -> Result<Word, M::Stop> {
    let paths = machine.iterate(&[first, protocol], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let &[at, protocol] = variables else { return Ok(iteration) };
        let done = machine.compare(CompareOp::SGe, at, next);
        let (done, going) = machine.split(done);
        iteration.leave_in(done, vec![Word::Imm(0)]);
        machine.resume(going);
        let header = machine.known_address(at, 8)?;
        let length = extension_length(machine, protocol, header)?;
        let following = machine.load_at(header, Size::B1, false);
        let left = machine.load_at(header.plus(3), Size::B1, false);
        let routing = machine.compare(CompareOp::Eq, protocol, 43);
        let (routing, other) = machine.split(routing);
        machine.resume(routing);
        let detour = machine.compare(CompareOp::Ne, left, 0);
        let (detour, direct) = machine.split(detour);
        iteration.leave_in(detour, vec![Word::Imm(1)]);
        machine.enter(vec![other, direct])?;
        let after = machine.add(at, length);
        iteration.again(machine, vec![after, following]);
        Ok(iteration)
    })?;
    machine.meet_word(paths)
}

/// Gives next, protocol, fragment and flags in one word.
fn to_last<M: Machine>(machine: &mut M, next: Word, protocol: Word) -> Result<Word, M::Stop> {
    // The fragment header and the flags as they are in the result.
    let initial = [next, protocol, Word::Imm(0), Word::Imm(MAX_EXTENSIONS)];
    let paths = machine.iterate(&initial, &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let [next, protocol, seen, left] = *variables else { return Ok(iteration) };
        let end = |next: Word, protocol: Word, seen: Word| vec![next, protocol, seen];
        let stopped = end(next, protocol, seen);
        let done = machine.compare(CompareOp::SLe, left, 0);
        let (done, going) = machine.split(done);
        iteration.leave_in(done, stopped.clone());
        machine.resume(going);
        let (extended, plain) = split_extension(machine, protocol);
        iteration.leave_in(plain, stopped.clone());
        machine.enter(extended)?;
        let (header, outside) = machine.locate(next, 8)?;
        outside.into_iter().for_each(|state| iteration.leave_in(state, stopped.clone()));
        let length = extension_length(machine, protocol, header)?;
        let after = machine.add(next, length);
        let (_, outside) = machine.locate(after, 0)?;
        outside.into_iter().for_each(|state| iteration.leave_in(state, stopped.clone()));
        let following = machine.load_at(header, Size::B1, false);
        let left = machine.sub(left, 1);
        let fragment = machine.compare(CompareOp::Eq, protocol, 44);
        let (fragment, other) = machine.split(fragment);
        machine.resume(other);
        iteration.again(machine, vec![after, following, seen, left]);
        machine.resume(fragment);
        let flags = machine.load_at(header.plus(2), Size::B2, false);
        let flags = machine.host_order(flags, Size::B2);
        let seen = join_bits(machine, &[(next, FRAGMENT), (flags, FLAGS)]);
        let offset = machine.and(flags, 0xfff8);
        let later = machine.compare(CompareOp::Ne, offset, 0);
        let (later, first) = machine.split(later);
        iteration.leave_in(later, end(after, following, seen));
        machine.resume(first);
        iteration.again(machine, vec![after, following, seen, left]);
        Ok(iteration)
    })?;
    Ok(match machine.meet(paths)?.as_deref() {
        Some(&[next, protocol, seen]) => join_bits(machine, &[(next, 0), (protocol, PROTOCOL), (seen, 0)]),
        _ => Word::Imm(0),
    })
}

/// The words, each shifted to the left, as one.
fn join_bits<M: Machine>(machine: &mut M, parts: &[(Word, i64)]) -> Word {
    parts.iter().fold(Word::Imm(0), |all, (word, shift)| {
        let word = machine.shl(*word, *shift);
        machine.binary(BinaryOp::Or, word, all)
    })
}

/// Bytes of an extension header: (n + 1) × 8; authentication (n + 2) × 4; fragment 8.
fn extension_length<M: Machine>(machine: &mut M, protocol: Word, header: Address) -> Result<Word, M::Stop> {
    let stated = machine.load_at(header.plus(1), Size::B1, false);
    let mut paths = Vec::new();
    let fragment = machine.compare(CompareOp::Eq, protocol, 44);
    let (fragment, other) = machine.split(fragment);
    paths.push(Path { state: fragment, values: vec![Word::Imm(8)] });
    machine.resume(other);
    let authentication = machine.compare(CompareOp::Eq, protocol, 51);
    let (authentication, other) = machine.split(authentication);
    machine.resume(authentication);
    let length = machine.add(stated, 2);
    let length = machine.shl(length, 2);
    paths.push(machine.take_path(vec![length]));
    machine.resume(other);
    let length = machine.add(stated, 1);
    let length = machine.shl(length, 3);
    paths.push(machine.take_path(vec![length]));
    Ok(match machine.meet(paths)?.as_deref() {
        Some(&[length]) => length,
        _ => Word::Imm(8),
    })
}
