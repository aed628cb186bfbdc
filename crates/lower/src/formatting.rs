//! Text of numbers and addresses, made at packet time in the scratch region.

use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::strings::Slice;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

/// Bytes that the longest integer text needs, rounded up to words.
const NUMBER_ROOM: i64 = 24;

fn scratch(start: Word, length: Word) -> Str {
    Str::Slice { space: Space::Scratch, start, length }
}

fn put_byte(context: &mut Context<'_>, at: Word, byte: Word) -> Result<()> {
    let address = context.address(Space::Scratch, at, 1)?;
    context.store(address.base, address.disp, Size::B1, byte);
    Ok(())
}

/// Writes the digits of an unsigned number backwards before `end`; gives where the first one is.
fn digits_before(context: &mut Context<'_>, number: Word, end: Word, base: i64) -> Result<Word> {
    let arms = context.repeat(&[number, end], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (number, at) = (variables[0], variables[1]);
        let rest = context.binary(BinaryOp::UDiv, number, base);
        let whole = context.binary(BinaryOp::Mul, rest, base);
        let digit = context.sub(number, whole);
        let letter = context.compare(CompareOp::SGt, digit, 9);
        let letter = context.condition_word(letter);
        let offset = context.binary(BinaryOp::Mul, letter, i64::from(b'a' - b'9' - 1));
        let byte = context.add(digit, i64::from(b'0'));
        let byte = context.add(byte, offset);
        let at = context.sub(at, 1);
        put_byte(context, at, byte)?;
        let more = context.compare(CompareOp::Ne, rest, 0);
        let (more, done) = context.split(more);
        iteration.leave_in(done, vec![Abs::Int(at)]);
        context.state = more;
        iteration.again(context, vec![rest, at]);
        Ok(iteration)
    })?;
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(at)]) => *at,
        _ => end,
    })
}

/// The decimal text of an integer (`%d`).
pub fn decimal(context: &mut Context<'_>, word: Word) -> Result<Str> {
    if let Word::Imm(value) = word {
        return Ok(Str::Const(value.to_string().into_bytes().into()));
    }
    let start = context.allocate(Word::Imm(NUMBER_ROOM))?;
    let end = context.add(start, NUMBER_ROOM);
    let sign = context.binary(BinaryOp::AShr, word, 63);
    let flipped = context.binary(BinaryOp::Xor, word, sign);
    let magnitude = context.sub(flipped, sign);
    let first = digits_before(context, magnitude, end, 10)?;
    // The minus sign is always written and only counted where there is one.
    let before = context.sub(first, 1);
    put_byte(context, before, Word::Imm(b'-'.into()))?;
    let first = context.add(first, sign);
    let length = context.sub(end, first);
    Ok(scratch(first, length))
}

/// The hexadecimal text of an integer's 64 bits (`%x`).
pub fn hexadecimal(context: &mut Context<'_>, word: Word) -> Result<Str> {
    if let Word::Imm(value) = word {
        return Ok(Str::Const(format!("{value:x}").into_bytes().into()));
    }
    let start = context.allocate(Word::Imm(NUMBER_ROOM))?;
    let end = context.add(start, NUMBER_ROOM);
    let first = digits_before(context, word, end, 16)?;
    let length = context.sub(end, first);
    Ok(scratch(first, length))
}

/// The text of an address: where it is and how long.
pub fn address(context: &mut Context<'_>, text: &Str) -> Result<(Space, Word, Word)> {
    let parts = match text {
        Str::Ipv4(word) => {
            let mut parts = Vec::new();
            for shift in [24, 16, 8, 0] {
                let octet = context.shr(*word, shift);
                let octet = context.and(octet, 255);
                parts.push(Abs::Int(octet));
                parts.push(Abs::text("."));
            }
            parts.pop();
            parts
        }
        Str::Mac(word) => return mac(context, *word),
        _ => {
            return context.unsupported(
                "the text of an IPv6 address",
                "compare the address with a constant, or print it",
                None,
            );
        }
    };
    match context.concatenate(&parts)? {
        Abs::Str(text) => context.slice(&text),
        _ => Ok((Space::Scratch, Word::Imm(8), Word::Imm(0))),
    }
}

/// Six pairs of hex digits: all digits at once in a few word operations would not pay; addresses are rarely printed.
fn mac(context: &mut Context<'_>, word: Word) -> Result<(Space, Word, Word)> {
    let start = context.allocate(Word::Imm(24))?;
    for index in 0..6 {
        let octet = context.shr(word, 40 - 8 * index);
        for (position, shift) in [(0, 4), (1, 0)] {
            let digit = context.shr(octet, shift);
            let digit = context.and(digit, 15);
            let letter = context.compare(CompareOp::SGt, digit, 9);
            let letter = context.condition_word(letter);
            let mask = context.unary(UnaryOp::Neg, letter);
            let offset = context.and(mask, i64::from(b'a' - b'9' - 1));
            let byte = context.add(digit, i64::from(b'0'));
            let byte = context.add(byte, offset);
            let at = context.add(start, 3 * index + position);
            put_byte(context, at, byte)?;
        }
        if index < 5 {
            let at = context.add(start, 3 * index + 2);
            put_byte(context, at, Word::Imm(b':'.into()))?;
        }
    }
    let slice = Slice { space: Space::Scratch, start, length: Word::Imm(17) };
    Ok((slice.space, slice.start, slice.length))
}
