//! Decimal text of numbers below 10^8 without loops and branches: all digits are computed side by side in one word.

use crate::context::Context;
use crate::value::Word;
use moonhook_ir::words::Words;
use moonhook_ir::{BinaryOp, UnaryOp};

/// Numbers from here on have more than eight digits.
pub const LIMIT: i64 = 100_000_000;

const ZEROS: i64 = 0x3030_3030_3030_3030;

/// The text of a number from 0 to `most`, its first character lowest, and the number of its characters. What follows them
/// in the word is not kept.
pub fn word_of(context: &mut Context<'_>, number: Word, most: i64) -> (Word, Word) {
    if most < 1000 { three_digits(context, number, most) } else { eight_digits(context, number) }
}

/// A number below 1000. Its quotients are exact in that range.
fn three_digits(context: &mut Context<'_>, number: Word, most: i64) -> (Word, Word) {
    let mul = |context: &mut Context<'_>, a: Word, b: i64| context.binary(BinaryOp::Mul, a, b);
    let tens = mul(context, number, 205);
    let tens = context.shr(tens, 11);
    let before = mul(context, tens, 10);
    let one = context.sub(number, before);
    let count = context.sub(number, 10);
    let two = context.binary(BinaryOp::AShr, count, 63);
    if most < 100 {
        let one = context.shl(one, 8);
        let text = context.add(tens, one);
        let text = context.add(text, 0x3030);
        return without_zeros(context, text, two, 2);
    }
    let hundreds = mul(context, number, 41);
    let hundreds = context.shr(hundreds, 12);
    let before = mul(context, hundreds, 10);
    let ten = context.sub(tens, before);
    let ten = context.shl(ten, 8);
    let one = context.shl(one, 16);
    let text = context.add(hundreds, ten);
    let text = context.add(text, one);
    let text = context.add(text, 0x30_3030);
    let three = context.sub(number, 100);
    let three = context.binary(BinaryOp::AShr, three, 63);
    let missing = context.add(two, three);
    without_zeros(context, text, missing, 3)
}

/// The text without as many leading characters as `missing` is below zero.
fn without_zeros(context: &mut Context<'_>, text: Word, missing: Word, digits: i64) -> (Word, Word) {
    let count = context.add(missing, digits);
    let unused = context.sub(0, missing);
    let bits = context.shl(unused, 3);
    (context.shr(text, bits), count)
}

/// A number below 10^8: split into halves of four digits, these into two pairs each, and those into digits.
fn eight_digits(context: &mut Context<'_>, number: Word) -> (Word, Word) {
    let mul = |context: &mut Context<'_>, a: Word, b: i64| context.binary(BinaryOp::Mul, a, b);
    let high = mul(context, number, 109_951_163);
    let high = context.shr(high, 40);
    let before = mul(context, high, 10_000);
    let low = context.sub(number, before);
    let low = context.shl(low, 32);
    let halves = context.binary(BinaryOp::Or, high, low);
    let hundreds = mul(context, halves, 10_486);
    let hundreds = context.shr(hundreds, 20);
    let hundreds = context.and(hundreds, 0x0000_007f_0000_007f);
    let before = mul(context, hundreds, 100);
    let rest = context.sub(halves, before);
    let rest = context.shl(rest, 16);
    let pairs = context.binary(BinaryOp::Or, hundreds, rest);
    let tens = mul(context, pairs, 103);
    let tens = context.shr(tens, 10);
    let tens = context.and(tens, 0x000f_000f_000f_000f);
    let before = mul(context, tens, 10);
    let ones = context.sub(pairs, before);
    let ones = context.shl(ones, 8);
    let digits = context.binary(BinaryOp::Or, tens, ones);
    // The high bit of each byte that is not 0, and of the last one: the lowest such bit is the first digit's.
    let some = context.add(digits, 0x7f7f_7f7f_7f7f_7f7f);
    let some = context.and(some, 0x0080_8080_8080_8080);
    let some = context.binary(BinaryOp::Or, some, i64::MIN);
    let negative = context.unary(UnaryOp::Neg, some);
    let first = context.and(some, negative);
    let unit = context.shr(first, 7);
    // `1 << 8n` times this has n on top.
    let zeros = mul(context, unit, 0x0001_0203_0405_0607);
    let zeros = context.shr(zeros, 56);
    let text = context.add(digits, ZEROS);
    let bits = context.shl(zeros, 3);
    let text = context.shr(text, bits);
    (text, context.sub(8, zeros))
}

#[cfg(test)]
mod tests {
    /// The quotients that the code takes by multiplications.
    #[test]
    fn quotients_are_exact() {
        let exact = |limit: u64, divisor: u64, factor: u64, shift: u32| {
            let near = (0..limit).step_by(divisor as usize).chain([limit]);
            let near = near.flat_map(|multiple| [multiple.saturating_sub(1), multiple.min(limit - 1)]);
            near.into_iter().all(|number| (number * factor) >> shift == number / divisor)
        };
        assert!(exact(1000, 10, 205, 11) && exact(1000, 100, 41, 12));
        assert!(exact(100_000_000, 10_000, 109_951_163, 40));
        assert!(exact(10_000, 100, 10_486, 20) && exact(100, 10, 103, 10));
    }
}
