//! `require "mac"`: MAC addresses out of texts and bytes, which are numbers from then on.

use super::call::{Call, Row, row};
use super::digits::{self, leave_wrong};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

pub const ROWS: &[Row] = &[row("mac.parse", parse)];

/// Bytes of an address, and characters of its text.
const BYTES: i64 = 6;
const CHARACTERS: i64 = 17;

fn parse(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    parsed(context, text)
}

/// The MAC address that a text is, or nil, on each path.
pub fn parsed(context: &mut Context<'_>, text: Str) -> Result<Vec<Arm>> {
    match text {
        Str::Mac(_) => context.only(Abs::Str(text)),
        Str::Ipv4(_) => context.only(Abs::Nil),
        Str::Const(text) => {
            let address = constant(&text);
            context.only(address.map_or(Abs::Nil, |address| Abs::Str(Str::Mac(Word::Imm(address)))))
        }
        // The text of an IPv6 address can have six characters, which are bytes here.
        Str::Slice { .. } | Str::Cased { .. } | Str::Ipv6(..) => {
            let slice = context.slice_of(&text)?;
            of_slice(context, slice)
        }
    }
}

fn constant(text: &[u8]) -> Option<i64> {
    let number = |address: i64, byte: i64| address << 8 | byte;
    if text.len() as i64 == BYTES {
        return Some(text.iter().map(|byte| i64::from(*byte)).fold(0, number));
    }
    let separator = *text.get(2).filter(|separator| b":-".contains(separator))?;
    let pairs = text.split(|byte| *byte == separator).map(|pair| match *pair {
        [a, b] => Some(i64::from(digits::hex(a)?) << 4 | i64::from(digits::hex(b)?)),
        _ => None,
    });
    let bytes: Vec<i64> = pairs.collect::<Option<_>>()?;
    (bytes.len() as i64 == BYTES).then(|| bytes.into_iter().fold(0, number))
}

fn of_slice(context: &mut Context<'_>, text: Slice) -> Result<Vec<Arm>> {
    let (mut addresses, mut others) = (Vec::new(), Vec::new());
    let short = context.compare(CompareOp::Eq, text.length, BYTES);
    let (short, longer) = context.split(short);
    context.state = short;
    if context.state.alive() {
        let bytes = context.address(text.space, text.start, BYTES as u32)?;
        let first = context.load_at(bytes, Size::B4, false);
        let first = context.unary(UnaryOp::Swap32, first);
        let last = context.load_at(bytes.plus(4), Size::B2, false);
        let last = context.unary(UnaryOp::Swap16, last);
        let first = context.shl(first, 16);
        let address = context.binary(BinaryOp::Or, first, last);
        addresses.push(Arm { state: context.take_state(), values: vec![Abs::Int(address)] });
    }
    context.state = longer;
    let other = context.compare(CompareOp::Ne, text.length, CHARACTERS);
    context.leave_if(other, &mut others);
    if context.state.alive() {
        pairs(context, text, &mut addresses, &mut others)?;
    }
    let mut arms = Vec::new();
    if let Some([Abs::Int(address)]) = context.join(addresses)?.as_deref() {
        let values = vec![Abs::Str(Str::Mac(*address))];
        arms.push(Arm { state: context.take_state(), values });
    }
    context.enter(others)?;
    arms.push(Arm { state: context.take_state(), values: vec![Abs::Nil] });
    Ok(arms)
}

/// Pairs of digits with the separator between them that stands behind the first one.
fn pairs(
    context: &mut Context<'_>,
    text: Slice,
    addresses: &mut Vec<Arm>,
    others: &mut Vec<State>,
) -> Result<()> {
    let separator = context.byte_at(text, Word::Imm(2))?;
    let colon = context.compare(CompareOp::Eq, separator, i64::from(b':'));
    let (colon, other) = context.split(colon);
    context.state = other;
    let neither = context.compare(CompareOp::Ne, separator, i64::from(b'-'));
    context.leave_if(neither, others);
    let hyphen = context.take_state();
    let separator = context.either(colon, Word::Imm(b':'.into()), hyphen, Word::Imm(b'-'.into()))?;
    let initial = [Word::Imm(0), Word::Imm(0), separator];
    let exits = context.repeat(&initial, &mut |context, variables| pair(context, text, variables))?;
    for arm in exits {
        if arm.values.is_empty() { others.push(arm.state) } else { addresses.push(arm) }
    }
    Ok(())
}

/// One turn: two digits, and the separator behind them. Its variables: the offset, the bytes so far, the separator. It leaves with the address, or with
/// nothing.
fn pair(context: &mut Context<'_>, text: Slice, variables: &[Word]) -> Result<Iteration> {
    let mut iteration = Iteration::default();
    let [at, mut address, separator] = *variables else { return Ok(iteration) };
    for place in [0, 1] {
        let at = context.add(at, place);
        let byte = context.byte_at(text, at)?;
        let digit = digits::value_of(context, byte);
        let other = context.compare_apart(CompareOp::UGt, digit, 15);
        leave_wrong(context, &mut iteration, other);
        address = context.shl(address, 4);
        address = context.add(address, digit);
    }
    let last = context.compare_apart(CompareOp::SGe, at, CHARACTERS - 2);
    let (last, inner) = context.split(last);
    iteration.leave_in(last, vec![Abs::Int(address)]);
    context.state = inner;
    let behind = context.add(at, 2);
    let byte = context.byte_at(text, behind)?;
    let other = context.compare_apart(CompareOp::Ne, byte, separator);
    leave_wrong(context, &mut iteration, other);
    let next = context.add(at, 3);
    iteration.again(context, vec![next, address, separator]);
    Ok(iteration)
}
