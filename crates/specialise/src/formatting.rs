//! Text of integers, and the conversions of `string.format`, made at packet time in the scratch region.
//!
//! Integers are written backwards from a fixed end, so that what goes before the digits (zeros, sign, prefix, spaces) is a
//! matter of moving the start. Constants are converted here and now.

use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::strings::{Slice, pieces};
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Branches, Cond, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};
use moonhook_library::conversion::Conversion;

/// Bytes that the longest integer text needs, rounded up to words.
const NUMBER_ROOM: i64 = 24;

pub fn scratch(start: Word, length: Word) -> Str {
    Str::Slice { space: Space::Scratch, start, length }
}

pub fn constant(text: impl Into<Vec<u8>>) -> Str {
    Str::Const(text.into().into())
}

/// Writes one byte of the scratch region.
pub fn put_byte(context: &mut Context<'_>, at: Word, byte: Word) -> Result<()> {
    let address = context.address(Space::Scratch, at, 1)?;
    context.store(address.base, address.disp, Size::B1, byte);
    Ok(())
}

/// Writes `count` times the same byte.
fn fill(context: &mut Context<'_>, start: Word, byte: u8, count: i64) -> Result<()> {
    if count > 0 {
        let address = context.address(Space::Scratch, start, count as u32)?;
        for (offset, size) in pieces(count as usize) {
            let place = address.plus(offset as i16);
            let bytes = i64::from_le_bytes([byte; 8]) as u64 >> (64 - 8 * size as u32);
            context.store(place.base, place.disp, size, bytes as i64);
        }
    }
    Ok(())
}

/// The character of a digit below 16; `letters` is the distance from the character after `9` to the letter for 10.
pub fn digit_character(context: &mut Context<'_>, digit: Word, letters: i64) -> Word {
    let carried = context.add(digit, 6);
    let is_letter = context.shr(carried, 4);
    let offset = context.binary(BinaryOp::Mul, is_letter, letters);
    let byte = context.add(digit, i64::from(b'0'));
    context.add(byte, offset)
}

/// From the character after `9` to `a`.
pub const LOWER_CASE: i64 = (b'a' - b'9' - 1) as i64;
const UPPER_CASE: i64 = (b'A' - b'9' - 1) as i64;

/// Writes the digits of an unsigned number backwards before `end`; gives where the first one is.
fn digits_before(
    context: &mut Context<'_>,
    number: Word,
    end: Word,
    conversion: &Conversion,
) -> Result<Word> {
    let base = conversion.base();
    let arms = context.repeat(&[number, end], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (number, at) = (variables[0], variables[1]);
        let rest = context.binary(BinaryOp::UDiv, number, base);
        let whole = context.binary(BinaryOp::Mul, rest, base);
        let digit = context.sub(number, whole);
        let byte = match conversion.letter {
            b'x' => digit_character(context, digit, LOWER_CASE),
            b'X' => digit_character(context, digit, UPPER_CASE),
            _ => context.add(digit, i64::from(b'0')),
        };
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
        return Ok(constant(value.to_string()));
    }
    let start = context.allocate(Word::Imm(NUMBER_ROOM))?;
    let end = context.write_integer(word, start)?;
    let length = context.sub(end, start);
    Ok(scratch(start, length))
}

/// The decimal text of any integer, digit after digit.
pub fn long_decimal(context: &mut Context<'_>, word: Word) -> Result<Str> {
    integer(context, word, &Conversion { letter: b'd', ..Conversion::default() })
}

/// The text of an integer by `%d %i %u %o %x %X`; all but the first two take it as unsigned.
pub fn integer(context: &mut Context<'_>, word: Word, conversion: &Conversion) -> Result<Str> {
    if let Word::Imm(value) = word {
        return Ok(constant(conversion.integer(value)));
    }
    let zeros = conversion.digits().unwrap_or(conversion.zero_width());
    // Before the digits there may be two characters; their place must not lie before the room.
    let before = (zeros.max(conversion.width).max(NUMBER_ROOM - 2) + 2 + 7) & !7;
    let behind = if conversion.left { (conversion.width + 7) & !7 } else { 0 };
    let start = context.allocate(Word::Imm(before + behind))?;
    if conversion.width > 0 {
        fill(context, start, b' ', before + behind)?;
    }
    let end = context.add(start, before);
    let zeros_start = context.sub(end, zeros);
    fill(context, zeros_start, b'0', zeros)?;
    let negative = if conversion.is_signed() { context.shr(word, 63) } else { Word::Imm(0) };
    let mask = context.binary(BinaryOp::Sub, 0, negative);
    let flipped = context.binary(BinaryOp::Xor, word, mask);
    let magnitude = context.add(flipped, negative);
    let mut first = digits_before(context, magnitude, end, conversion)?;
    let natural = first;
    let zero = context.compare(CompareOp::Eq, word, 0);
    if conversion.digits() == Some(0) {
        // Zero has no digits then; the one that was written is not counted.
        let uncounted = context.condition_word(zero);
        first = context.add(first, uncounted);
    }
    if zeros > 0 {
        let room = prefix_length(context, conversion, negative, zero);
        let room = if conversion.digits().is_some() { Word::Imm(0) } else { room };
        let least = context.add(zeros_start, room);
        first = context.minimum(first, least)?;
    }
    first = put_prefix(context, conversion, first, natural, negative, zero)?;
    if conversion.width > 0 && !conversion.left {
        let padded = context.sub(end, conversion.width);
        first = context.minimum(first, padded)?;
    }
    let mut length = context.sub(end, first);
    if conversion.left {
        length = context.maximum(length, Word::Imm(conversion.width))?;
    }
    Ok(scratch(first, length))
}

fn negated(cond: Cond) -> Cond {
    match cond {
        Cond::Known(known) => Cond::Known(!known),
        Cond::Test(mut test) => {
            test.op = if test.op == CompareOp::Eq { CompareOp::Ne } else { CompareOp::Eq };
            Cond::Test(test)
        }
    }
}

/// How many characters the sign or the `0x` takes; `zero` is an equality.
fn prefix_length(context: &mut Context<'_>, conversion: &Conversion, negative: Word, zero: Cond) -> Word {
    match conversion.letter {
        b'd' | b'i' if conversion.plus || conversion.space => Word::Imm(1),
        b'd' | b'i' => negative,
        b'x' | b'X' if conversion.alternate => {
            let some = context.condition_word(negated(zero));
            context.shl(some, 1)
        }
        _ => Word::Imm(0),
    }
}

/// Writes sign or prefix before `first`; gives where it starts. Where there is none, a space is written and not counted.
fn put_prefix(
    context: &mut Context<'_>,
    conversion: &Conversion,
    first: Word,
    natural: Word,
    negative: Word,
    zero: Cond,
) -> Result<Word> {
    let or_space = |context: &mut Context<'_>, present: Word, character: u8| {
        let offset = context.binary(BinaryOp::Mul, present, i64::from(character) - i64::from(b' '));
        context.add(offset, i64::from(b' '))
    };
    let length = match conversion.letter {
        b'd' | b'i' => {
            let positive = if conversion.plus { b'+' } else { b' ' };
            let change = i64::from(b'-') - i64::from(positive);
            let change = context.binary(BinaryOp::Mul, negative, change);
            let character = context.add(change, i64::from(positive));
            let place = context.sub(first, 1);
            put_byte(context, place, character)?;
            prefix_length(context, conversion, negative, zero)
        }
        b'x' | b'X' if conversion.alternate => {
            let some = context.condition_word(negated(zero));
            for (distance, character) in [(1, conversion.letter), (2, b'0')] {
                let character = or_space(context, some, character);
                let place = context.sub(first, distance);
                put_byte(context, place, character)?;
            }
            context.shl(some, 1)
        }
        b'o' if conversion.alternate => {
            // A zero in front, unless the digits were filled up with zeros already.
            let some = context.condition_word(negated(zero));
            let unfilled = context.compare(CompareOp::Eq, first, natural);
            let unfilled = context.condition_word(unfilled);
            let needed = context.and(some, unfilled);
            let character = or_space(context, needed, b'0');
            let place = context.sub(first, 1);
            put_byte(context, place, character)?;
            needed
        }
        _ => Word::Imm(0),
    };
    Ok(context.sub(first, length))
}

/// The text of one character (`%c`): the low 8 bits of an integer.
pub fn character(context: &mut Context<'_>, word: Word) -> Result<Str> {
    if let Word::Imm(value) = word {
        return Ok(constant([value as u8]));
    }
    let start = context.allocate(Word::Imm(8))?;
    put_byte(context, start, word)?;
    Ok(scratch(start, Word::Imm(1)))
}

/// A string cut to the conversion's precision and filled up with spaces to its width.
pub fn padded(context: &mut Context<'_>, text: &Str, conversion: &Conversion) -> Result<Str> {
    if let Str::Const(bytes) = text {
        return Ok(constant(conversion.text(bytes)));
    }
    let whole = context.view_of(text)?;
    let mut length = whole.length;
    if let Some(precision) = conversion.precision {
        length = context.minimum(length, Word::Imm(precision))?;
    }
    if conversion.width == 0 {
        return Ok(Slice { length, ..whole }.text());
    }
    let total = context.maximum(length, Word::Imm(conversion.width))?;
    let width = (conversion.width + 7) & !7;
    // The last word of a copy has zeros behind the text: blanks that follow it are written afterwards, all of them.
    let behind = if conversion.left { width } else { 0 };
    let room = context.add(total, behind);
    let to = context.allocate(room)?;
    let from = match conversion.left {
        true => to,
        false => {
            fill(context, to, b' ', width)?;
            let indent = context.sub(total, length);
            context.add(to, indent)
        }
    };
    context.copy_slice(Slice { length, ..whole }, &mut |context, at| {
        let place = context.add(from, at);
        context.address(Space::Scratch, place, 8)
    })?;
    let end = context.add(from, length);
    fill(context, end, b' ', behind)?;
    Ok(scratch(to, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(letter: u8) -> Conversion {
        Conversion { letter, ..Conversion::default() }
    }

    #[test]
    fn constants_have_their_width_and_digits() {
        let text = |conversion: Conversion, value| String::from_utf8(conversion.integer(value)).unwrap();
        assert_eq!(text(Conversion { width: 5, zero: true, ..conversion(b'd') }, -42), "-0042");
        assert_eq!(text(Conversion { width: 6, precision: Some(3), ..conversion(b'd') }, 7), "   007");
        assert_eq!(text(Conversion { precision: Some(0), ..conversion(b'd') }, 0), "");
        assert_eq!(text(Conversion { alternate: true, ..conversion(b'o') }, 0), "0");
        assert_eq!(text(Conversion { alternate: true, precision: Some(3), ..conversion(b'o') }, 8), "010");
        assert_eq!(
            text(Conversion { alternate: true, width: 8, zero: true, ..conversion(b'X') }, 255),
            "0X0000FF"
        );
    }
}
