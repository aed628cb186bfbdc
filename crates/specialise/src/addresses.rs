//! Addresses as text: which constant strings are an address, and the text of an address made at packet time.

use crate::context::{Context, Result};
use crate::formatting::{LOWER_CASE, digit_character, put_byte};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};

impl Context<'_> {
    /// Writes an address's text to the scratch region: where it is and how long.
    pub fn address_text(&mut self, text: &Str) -> Result<(Space, Word, Word)> {
        let (start, length) = match text {
            Str::Ipv4(word) => ipv4_text(self, *word)?,
            Str::Mac(word) => mac_text(self, *word)?,
            Str::Ipv6(high, low) => ipv6_text(self, *high, *low)?,
            Str::Const(_) | Str::Slice { .. } | Str::Cased { .. } => return self.slice(text),
        };
        Ok((Space::Scratch, start, length))
    }

    /// The decimal text of an integer.
    pub fn integer_text(&mut self, word: Word) -> Result<Str> {
        crate::formatting::decimal(self, word)
    }
}

fn put(context: &mut Context<'_>, at: Word, size: Size, word: Word) -> Result<()> {
    let address = context.address(Space::Scratch, at, size as u32)?;
    context.store(address.base, address.disp, size, word);
    Ok(())
}

/// 1 where `number`, which is below `1 << bits`, is at least `limit`, else 0.
fn at_least(context: &mut Context<'_>, number: Word, limit: i64, bits: i64) -> Word {
    let carried = context.add(number, (1 << bits) - limit);
    context.shr(carried, bits)
}

/// The longest dotted quad is 15 bytes; a dot too many is written behind the last number.
fn ipv4_text(context: &mut Context<'_>, word: Word) -> Result<(Word, Word)> {
    let start = context.allocate(Word::Imm(16))?;
    let end = put_ipv4(context, word, start)?;
    let length = context.sub(end, start);
    Ok((start, length))
}

/// Writes a dotted quad and a byte behind it; gives its end.
pub fn put_ipv4(context: &mut Context<'_>, word: Word, start: Word) -> Result<Word> {
    let mut at = start;
    for shift in [24, 16, 8, 0] {
        let number = context.shr(word, shift);
        let number = context.and(number, 255);
        let (text, count) = crate::decimals::word_of(context, number, 255);
        let bits = context.shl(count, 3);
        let dot = context.shl(i64::from(b'.'), bits);
        let text = context.binary(BinaryOp::Or, text, dot);
        put(context, at, Size::B4, text)?;
        at = context.add(at, count);
        at = context.add(at, 1);
    }
    Ok(context.sub(at, 1))
}

/// Six pairs of hex digits.
fn mac_text(context: &mut Context<'_>, word: Word) -> Result<(Word, Word)> {
    let start = context.allocate(Word::Imm(24))?;
    for index in 0..6 {
        for (position, shift) in [(0, 44), (1, 40)] {
            let digit = context.shr(word, shift - 8 * index);
            let digit = context.and(digit, 15);
            let byte = digit_character(context, digit, LOWER_CASE);
            let at = context.add(start, 3 * index + position);
            put_byte(context, at, byte)?;
        }
        if index < 5 {
            let at = context.add(start, 3 * index + 2);
            put_byte(context, at, Word::Imm(b':'.into()))?;
        }
    }
    Ok((start, Word::Imm(17)))
}

/// RFC 5952: `::ffff:` and a dotted quad for IPv4-mapped addresses, else groups with the longest run of zeros left out.
fn ipv6_text(context: &mut Context<'_>, high: Word, low: Word) -> Result<(Word, Word)> {
    let start = context.allocate(Word::Imm(48))?;
    let upper = context.shr(low, 32);
    let mapped = context.binary(BinaryOp::Xor, upper, 0xffff);
    let mapped = context.binary(BinaryOp::Or, mapped, high);
    let mapped = context.compare(CompareOp::Eq, mapped, 0);
    let (mapped, general) = context.split(mapped);
    let mut arms = Vec::new();
    context.state = mapped;
    if context.state.alive() {
        put(context, start, Size::B8, Word::Imm(i64::from_le_bytes(*b"::ffff:\0")))?;
        let after = context.add(start, 7);
        let end = put_ipv4(context, low, after)?;
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(end)] });
    }
    context.state = general;
    if context.state.alive() {
        arms.extend(put_groups(context, high, low, start)?);
    }
    let end = match context.join(arms)?.as_deref() {
        Some([Abs::Int(end)]) => *end,
        _ => start,
    };
    let length = context.sub(end, start);
    Ok((start, length))
}

/// For each set of zero groups (bit n stands for group n) the first one left out and the first one after; 8 and 8 where
/// none are. The first of the longest runs of at least two counts (RFC 5952 § 4.2).
fn zero_runs() -> Vec<u8> {
    let run = |set: usize| {
        let mut best = (8, 8);
        for from in 0..8 {
            let length = (from..8).take_while(|group| set & 1 << group != 0).count();
            if length >= 2 && length > best.1 - best.0 {
                best = (from, from + length);
            }
        }
        [best.0 as u8, best.1 as u8]
    };
    (0..256).flat_map(run).collect()
}

/// Group `index` of an address.
fn group(context: &mut Context<'_>, high: Word, low: Word, index: Word) -> Result<Word> {
    let first = context.compare(CompareOp::SLt, index, 4);
    let (then, otherwise) = context.split(first);
    let half = context.either(then, high, otherwise, low)?;
    let place = context.and(index, 3);
    let place = context.binary(BinaryOp::Xor, place, 3);
    let shift = context.shl(place, 4);
    let shifted = context.shr(half, shift);
    Ok(context.and(shifted, 0xffff))
}

/// Writes the groups; each arm carries the end.
fn put_groups(context: &mut Context<'_>, high: Word, low: Word, start: Word) -> Result<Vec<Arm>> {
    let mut set = Word::Imm(0);
    for index in 0..8 {
        let group = group(context, high, low, Word::Imm(index))?;
        let some = at_least(context, group, 1, 16);
        let zero = context.binary(BinaryOp::Xor, some, 1);
        let bit = context.shl(zero, index);
        set = context.add(set, bit);
    }
    let map = context.output.add_data("zero_runs", zero_runs());
    let base = context.emit(Op::DataAddress { map, offset: 0 });
    let entry = context.shl(set, 1);
    let entry = context.and(entry, 0x1fe);
    let entry = context.value(entry);
    let entry = context.emit(Op::Binary(BinaryOp::Add, base, ir::Operand::Value(entry)));
    let from = context.load(entry, 0, Size::B1, false);
    let to = context.load(entry, 1, Size::B1, false);
    context.repeat(&[Word::Imm(0), start], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (index, at) = (variables[0], variables[1]);
        let done = context.compare(CompareOp::SGe, index, 8);
        let (done, more) = context.split(done);
        // A run at the end: the colons are the last of the text.
        context.state = more;
        let left_out = context.compare(CompareOp::Eq, index, from);
        let (left_out, written) = context.split(left_out);
        iteration.leave_in(done, vec![Abs::Int(at)]);
        context.state = left_out;
        put(context, at, Size::B2, Word::Imm(i64::from(u16::from_le_bytes(*b"::"))))?;
        let after = context.add(at, 2);
        iteration.again(context, vec![to, after]);
        context.state = written;
        let next = put_group(context, high, low, index, to, at)?;
        let following = context.add(index, 1);
        iteration.again(context, vec![following, next]);
        Ok(iteration)
    })
}

/// Writes a colon, unless nothing or the double colon stands before, and a group; gives the end. Four digits are written,
/// leading zeros shifted out; what is too many is written over later.
fn put_group(
    context: &mut Context<'_>,
    high: Word,
    low: Word,
    index: Word,
    run_end: Word,
    at: Word,
) -> Result<Word> {
    let group = group(context, high, low, index)?;
    put_byte(context, at, Word::Imm(b':'.into()))?;
    let inner = context.compare(CompareOp::Ne, index, 0);
    let inner = context.condition_word(inner);
    let apart = context.compare(CompareOp::Ne, index, run_end);
    let apart = context.condition_word(apart);
    let colon = context.and(inner, apart);
    let at = context.add(at, colon);
    let mut digits = Word::Imm(1);
    for limit in [0x10, 0x100, 0x1000] {
        let another = at_least(context, group, limit, 16);
        digits = context.add(digits, another);
    }
    let unused = context.sub(4, digits);
    let unused = context.shl(unused, 2);
    let group = context.shl(group, unused);
    for position in 0..4 {
        let digit = context.shr(group, 12 - 4 * position);
        let digit = context.and(digit, 15);
        let character = digit_character(context, digit, LOWER_CASE);
        let place = context.add(at, position);
        put_byte(context, place, character)?;
    }
    Ok(context.add(at, digits))
}
