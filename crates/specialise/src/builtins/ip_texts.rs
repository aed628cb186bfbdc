//! Texts of packet time as IP addresses: every way of writing one (RFC 4291 § 2.2; four decimal numbers without leading zeros).
//!
//! One loop takes the groups of an IPv6 address, a character each turn; where it meets a dot, another one takes the dotted quad that began
//! with the group. Without a group or colon before it, the quad is an IPv4 address.

use super::digits::{self, leave_wrong};
use super::ip::prefix_of_ipv6;
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use std::net::IpAddr;

/// What a text may be.
pub struct Parsed {
    /// Where it is an address, with it.
    pub addresses: Vec<Arm>,
    /// Where it is none.
    pub others: Vec<State>,
}

/// Characters of the longest text: eight groups of four digits, the last two as a dotted quad.
const LONGEST: i64 = 45;

/// No `::` was met so far: more groups than there can be.
const NO_GAP: i64 = 9;

/// Splits the current state by whether the text is an address.
pub fn parse(context: &mut Context<'_>, text: &Str) -> Result<Parsed> {
    let known = |context: &mut Context<'_>, address: Option<Str>| match address {
        Some(address) => {
            let values = vec![Abs::Str(address)];
            Parsed { addresses: vec![Arm { state: context.take_state(), values }], others: vec![] }
        }
        None => Parsed { addresses: vec![], others: vec![context.take_state()] },
    };
    Ok(match text {
        Str::Ipv4(_) | Str::Ipv6(..) => known(context, Some(text.clone())),
        Str::Mac(_) => known(context, None),
        Str::Const(text) => known(context, constant(text)),
        Str::Slice { .. } | Str::Cased { .. } => {
            let slice = context.slice_of(text)?;
            groups(context, slice)?
        }
    })
}

fn constant(text: &[u8]) -> Option<Str> {
    Some(match std::str::from_utf8(text).ok()?.parse().ok()? {
        IpAddr::V4(address) => Str::Ipv4(Word::Imm(u32::from(address).into())),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            Str::Ipv6(Word::Imm((bits >> 64) as i64), Word::Imm(bits as i64))
        }
    })
}

/// What was read of an IPv6 address: how many groups, how many of them before `::`, and the groups, the first one highest, as both halves.
#[derive(Clone, Copy)]
struct Groups {
    count: Word,
    gap: Word,
    halves: [Word; 2],
}

impl Groups {
    /// With another group, of which there are less than eight so far.
    fn and(self, context: &mut Context<'_>, group: Word) -> Groups {
        let place = context.and(self.count, 3);
        let place = context.binary(BinaryOp::Xor, place, 3);
        let place = context.shl(place, 4);
        let group = context.shl(group, place);
        let is_low = context.shr(self.count, 2);
        let to_low = context.sub(0, is_low);
        let low = context.and(group, to_low);
        let high = context.sub(group, low);
        let [before, after] = self.halves;
        let halves = [context.binary(BinaryOp::Or, before, high), context.binary(BinaryOp::Or, after, low)];
        Groups { count: context.add(self.count, 1), halves, ..self }
    }

    /// Of the variables of the loop, with the others: the offset, the group that it is in, and that one's digits.
    fn of(values: &[Abs]) -> Option<(Groups, [Word; 3])> {
        let word = |value: &Abs| match value {
            Abs::Int(word) => Some(*word),
            _ => None,
        };
        let words: Vec<Word> = values.iter().map(word).collect::<Option<_>>()?;
        let [at, group, digits, count, gap, high, low] = words[..] else { return None };
        Some((Groups { count, gap, halves: [high, low] }, [at, group, digits]))
    }
}

fn groups(context: &mut Context<'_>, text: Slice) -> Result<Parsed> {
    let mut others = Vec::new();
    let long = context.compare(CompareOp::SGt, text.length, LONGEST);
    context.leave_if(long, &mut others);
    let initial = [0, 0, 0, 0, NO_GAP, 0, 0].map(Word::Imm);
    let (mut ended, mut dotted) = (Vec::new(), Vec::new());
    let exits = context.repeat(&initial, &mut |context, variables| character(context, text, variables))?;
    for arm in exits {
        match arm.values.as_slice() {
            [] => others.push(arm.state),
            [Abs::Bool(Word::Imm(0)), values @ ..] => {
                ended.push(Arm { state: arm.state, values: values.to_vec() })
            }
            [_, values @ ..] => dotted.push(Arm { state: arm.state, values: values.to_vec() }),
        }
    }
    let mut addresses = Vec::new();
    let mut whole = Vec::new();
    if let Some((groups, rest)) = context.join(ended)?.as_deref().and_then(Groups::of) {
        last_group(context, groups, rest, &mut whole, &mut others);
    }
    if let Some((groups, [at, _, digits])) = context.join(dotted)?.as_deref().and_then(Groups::of) {
        let start = context.sub(at, digits);
        if let Some(quad) = dotted_quad(context, text, start, &mut others)? {
            let none = context.compare(CompareOp::Eq, groups.count, 0);
            let (none, some) = context.split(none);
            context.state = none;
            let alone = context.compare(CompareOp::Eq, groups.gap, NO_GAP);
            let (alone, behind) = context.split(alone);
            addresses.push(Arm { state: alone, values: vec![Abs::Str(Str::Ipv4(quad))] });
            context.enter(vec![some, behind])?;
            last_quad(context, groups, quad, &mut whole, &mut others);
        }
    }
    if let Some((groups, _)) = context.join(whole)?.as_deref().and_then(Groups::of) {
        let [high, low] = spread(context, groups, &mut others)?;
        let values = vec![Abs::Str(Str::Ipv6(high, low))];
        addresses.push(Arm { state: context.take_state(), values });
    }
    Ok(Parsed { addresses, others })
}

fn whole(context: &mut Context<'_>, Groups { count, gap, halves: [high, low] }: Groups) -> Arm {
    let words = [Word::Imm(0), Word::Imm(0), Word::Imm(0), count, gap, high, low];
    Arm { state: context.take_state(), values: words.map(Abs::Int).to_vec() }
}

/// Where the text ends in a group, or behind `::`.
fn last_group(
    context: &mut Context<'_>,
    groups: Groups,
    [_, group, digits]: [Word; 3],
    ends: &mut Vec<Arm>,
    others: &mut Vec<State>,
) {
    let open = context.compare(CompareOp::Eq, digits, 0);
    let (open, closed) = context.split(open);
    context.state = open;
    let misplaced = context.compare(CompareOp::Ne, groups.gap, groups.count);
    context.leave_if(misplaced, others);
    ends.push(whole(context, groups));
    context.state = closed;
    let many = context.compare(CompareOp::SGt, groups.count, 7);
    context.leave_if(many, others);
    let groups = groups.and(context, group);
    ends.push(whole(context, groups));
}

/// Where it ends in a dotted quad, which stands for two groups.
fn last_quad(
    context: &mut Context<'_>,
    groups: Groups,
    quad: Word,
    ends: &mut Vec<Arm>,
    others: &mut Vec<State>,
) {
    let many = context.compare(CompareOp::SGt, groups.count, 6);
    context.leave_if(many, others);
    let first = context.shr(quad, 16);
    let second = context.and(quad, 0xffff);
    let groups = groups.and(context, first).and(context, second);
    ends.push(whole(context, groups));
}

/// One turn: a character. Its variables: the offset, the group so far and its digits, the groups before it. It leaves with `false` and these at the
/// end, with `true` and these at a dot, and with nothing where the text is no address.
fn character(context: &mut Context<'_>, text: Slice, variables: &[Word]) -> Result<Iteration> {
    let mut iteration = Iteration::default();
    let [at, group, digits, count, gap, high, low] = *variables else { return Ok(iteration) };
    let leaving =
        |tag: Abs| [tag].into_iter().chain(variables.iter().copied().map(Abs::Int)).collect::<Vec<_>>();
    let over = context.compare(CompareOp::SGe, at, text.length);
    let (over, within) = context.split(over);
    iteration.leave_in(over, leaving(Abs::FALSE));
    context.state = within;
    let byte = context.byte_at(text, at)?;
    let next = context.add(at, 1);
    let digit = digits::value_of(context, byte);
    let is_digit = context.compare_apart(CompareOp::ULt, digit, 16);
    let (is_digit, other) = context.split(is_digit);
    context.state = is_digit;
    let many = context.compare_apart(CompareOp::SGt, digits, 3);
    leave_wrong(context, &mut iteration, many);
    let longer = context.shl(group, 4);
    let longer = context.add(longer, digit);
    let more = context.add(digits, 1);
    iteration.again(context, vec![next, longer, more, count, gap, high, low]);

    context.state = other;
    let dot = context.compare_apart(CompareOp::Eq, byte, i64::from(b'.'));
    let (dot, other) = context.split(dot);
    iteration.leave_in(dot, leaving(Abs::TRUE));
    context.state = other;
    let no_colon = context.compare_apart(CompareOp::Ne, byte, i64::from(b':'));
    leave_wrong(context, &mut iteration, no_colon);
    colon(context, text, variables, &mut iteration)?;
    Ok(iteration)
}

/// A turn whose character is a colon: behind a group, behind another one, or the first character, which another one has to follow.
fn colon(
    context: &mut Context<'_>,
    text: Slice,
    variables: &[Word],
    iteration: &mut Iteration,
) -> Result<()> {
    let [at, group, digits, count, gap, high, low] = *variables else { return Ok(()) };
    let zero = Word::Imm(0);
    let next = context.add(at, 1);
    let none = context.compare_apart(CompareOp::Eq, digits, 0);
    let (none, some) = context.split(none);
    context.state = some;
    let many = context.compare_apart(CompareOp::SGt, count, 6);
    leave_wrong(context, iteration, many);
    let groups = Groups { count, gap, halves: [high, low] }.and(context, group);
    let [first, second] = groups.halves;
    iteration.again(context, vec![next, zero, zero, groups.count, gap, first, second]);

    context.state = none;
    let another = context.compare_apart(CompareOp::Ne, gap, NO_GAP);
    leave_wrong(context, iteration, another);
    let first = context.compare_apart(CompareOp::Eq, at, 0);
    let (first, second) = context.split(first);
    context.state = second;
    iteration.again(context, vec![next, zero, zero, count, count, high, low]);
    context.state = first;
    let lonely = context.compare(CompareOp::SLt, text.length, 2);
    leave_wrong(context, iteration, lonely);
    let byte = context.byte_at(text, Word::Imm(1))?;
    let lonely = context.compare_apart(CompareOp::Ne, byte, i64::from(b':'));
    leave_wrong(context, iteration, lonely);
    iteration.again(context, vec![Word::Imm(2), zero, zero, zero, zero, zero, zero]);
    Ok(())
}

/// The halves of an address of these groups, with zeros for `::`, which stands for one group at least.
fn spread(context: &mut Context<'_>, groups: Groups, others: &mut Vec<State>) -> Result<[Word; 2]> {
    let Groups { count, gap, halves } = groups;
    let missing = context.sub(8, count);
    let no_gap = context.compare(CompareOp::Eq, gap, NO_GAP);
    let (no_gap, gapped) = context.split(no_gap);
    context.state = no_gap;
    let short = context.compare(CompareOp::Ne, missing, 0);
    context.leave_if(short, others);
    let as_they_are = Arm { state: context.take_state(), values: halves.map(Abs::Int).to_vec() };
    context.state = gapped;
    let none = context.compare(CompareOp::SLt, missing, 1);
    context.leave_if(none, others);
    let before = context.shl(gap, 4);
    let [high, low] = prefix_of_ipv6(context, halves, before);
    let behind = [context.sub(halves[0], high), context.sub(halves[1], low)];
    let bits = context.shl(missing, 4);
    let behind = shifted(context, behind, bits)?;
    let halves =
        [context.binary(BinaryOp::Or, high, behind[0]), context.binary(BinaryOp::Or, low, behind[1])];
    let apart = Arm { state: context.take_state(), values: halves.map(Abs::Int).to_vec() };
    Ok(match context.join(vec![as_they_are, apart])?.as_deref() {
        Some([Abs::Int(high), Abs::Int(low)]) => [*high, *low],
        _ => [Word::Imm(0); 2],
    })
}

/// Both halves shifted right by 16 to 128 bits; by 128 where they are 0.
fn shifted(context: &mut Context<'_>, [high, low]: [Word; 2], bits: Word) -> Result<[Word; 2]> {
    let far = context.compare(CompareOp::SGe, bits, 64);
    let (far, near) = context.split(far);
    context.state = far;
    let rest = context.and(bits, 63);
    let moved = context.shr(high, rest);
    let far = Arm { state: context.take_state(), values: vec![Abs::int(0), Abs::Int(moved)] };
    context.state = near;
    let bits = context.and(bits, 63);
    let low = context.shr(low, bits);
    let others = context.sub(64, bits);
    let others = context.and(others, 63);
    let carried = context.shl(high, others);
    let low = context.binary(BinaryOp::Or, low, carried);
    let high = context.shr(high, bits);
    let near = Arm { state: context.take_state(), values: vec![Abs::Int(high), Abs::Int(low)] };
    Ok(match context.join(vec![far, near])?.as_deref() {
        Some([Abs::Int(high), Abs::Int(low)]) => [*high, *low],
        _ => [Word::Imm(0); 2],
    })
}

/// The dotted quad from `start` to the end, as a number, the first byte highest.
fn dotted_quad(
    context: &mut Context<'_>,
    text: Slice,
    start: Word,
    others: &mut Vec<State>,
) -> Result<Option<Word>> {
    // The numbers before come behind a 1, which tells how many there are.
    let initial = [start, Word::Imm(1), Word::Imm(0), Word::Imm(0)];
    let exits = context.repeat(&initial, &mut |context, variables| of_quad(context, text, variables))?;
    let (ends, wrong): (Vec<Arm>, Vec<Arm>) = exits.into_iter().partition(|arm| !arm.values.is_empty());
    others.extend(wrong.into_iter().map(|arm| arm.state));
    let Some(values) = context.join(ends)? else { return Ok(None) };
    let [Abs::Int(numbers), Abs::Int(number), Abs::Int(digits)] = values[..] else { return Ok(None) };
    let empty = context.compare(CompareOp::Eq, digits, 0);
    context.leave_if(empty, others);
    let before = context.shr(numbers, 24);
    let few = context.compare(CompareOp::Ne, before, 1);
    context.leave_if(few, others);
    let quad = context.shl(numbers, 8);
    let quad = context.binary(BinaryOp::Or, quad, number);
    Ok(context.state.alive().then_some(context.and(quad, 0xffff_ffff)))
}

/// One turn: a character. Its variables: the offset, the numbers before this one, this one so far, whether it has a digit. It leaves with all
/// but the first, or with nothing.
fn of_quad(context: &mut Context<'_>, text: Slice, variables: &[Word]) -> Result<Iteration> {
    let mut iteration = Iteration::default();
    let [at, numbers, number, digits] = *variables else { return Ok(iteration) };
    let over = context.compare(CompareOp::SGe, at, text.length);
    let (over, within) = context.split(over);
    iteration.leave_in(over, [numbers, number, digits].map(Abs::Int).to_vec());
    context.state = within;
    let byte = context.byte_at(text, at)?;
    let next = context.add(at, 1);
    let digit = context.sub(byte, i64::from(b'0'));
    let is_digit = context.compare_apart(CompareOp::ULt, digit, 10);
    let (is_digit, other) = context.split(is_digit);
    context.state = is_digit;
    // Behind a leading zero there is no digit.
    let zero = context.compare_apart(CompareOp::SLt, number, digits);
    leave_wrong(context, &mut iteration, zero);
    let larger = context.binary(BinaryOp::Mul, number, 10);
    let larger = context.add(larger, digit);
    let large = context.compare_apart(CompareOp::SGt, larger, 255);
    leave_wrong(context, &mut iteration, large);
    iteration.again(context, vec![next, numbers, larger, Word::Imm(1)]);
    context.state = other;
    let no_dot = context.compare_apart(CompareOp::Ne, byte, i64::from(b'.'));
    leave_wrong(context, &mut iteration, no_dot);
    let empty = context.compare_apart(CompareOp::Eq, digits, 0);
    leave_wrong(context, &mut iteration, empty);
    let many = context.compare_apart(CompareOp::SGe, numbers, 1 << 24);
    leave_wrong(context, &mut iteration, many);
    let numbers = context.shl(numbers, 8);
    let numbers = context.binary(BinaryOp::Or, numbers, number);
    iteration.again(context, vec![next, numbers, Word::Imm(0), Word::Imm(0)]);
    Ok(iteration)
}
