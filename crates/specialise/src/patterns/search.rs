//! Finding literal text, a machine word at a time.
//!
//! One byte of the text, the one that is rarest in network traffic, is looked for in 8 bytes at once: `(x - 0x01…) & !x &
//! 0x80…` has the high bit of each byte set that is zero in `x`, the word xor the byte repeated, and perhaps of bytes above
//! it, so that its lowest bit is exact. Where it is found, the whole text is compared.

use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

pub(super) const ONES: i64 = 0x0101_0101_0101_0101;
pub(super) const HIGHS: i64 = 0x8080_8080_8080_8080_u64 as i64;

/// Bytes looked at in one step where so many are left.
const STRIDE: i64 = 32;

/// How common a byte is in text protocols; the lower the rarer. From the shape of HTTP headers and host names: letters
/// of English by frequency, then digits and separators.
fn commonness(byte: u8) -> u32 {
    const ORDER: &[u8] = b"e taoinsr/:.hldcum0-pfgw1b2y;,v34k56789=xATECHSMLjqPRDUz&%BKXGNOIFVWYJQZ_\"+*()?";
    match ORDER.iter().position(|b| *b == byte) {
        Some(position) => 1000 - position as u32 * 10,
        None => 100,
    }
}

/// The state in which text is found, and its position.
pub type Place = (State, Word);

/// Splits the current state: where `text` is found between `from` and the subject's end, with its position, and where it
/// is not.
pub fn find(
    context: &mut Context<'_>,
    subject: Slice,
    from: Word,
    text: &[u8],
) -> Result<(Option<Place>, Vec<State>)> {
    let end = context.add(subject.start, subject.length);
    let anchor = (0..text.len()).min_by_key(|index| commonness(text[*index])).unwrap_or(0);
    // The anchor may stand at positions below this.
    let limit = context.sub(end, (text.len() - 1 - anchor) as i64);
    let search = Search { subject, text, end, anchor, limit };
    let first = context.add(from, anchor as i64);
    let arms = context.repeat(&[first], &mut |context, variables| search.turn(context, variables[0]))?;
    let mut missing = Vec::new();
    let mut found = Vec::new();
    for arm in arms {
        if arm.values.is_empty() { missing.push(arm.state) } else { found.push(arm) }
    }
    let place = context.join(found)?;
    let found = match place.as_deref() {
        Some([Abs::Int(place)]) => Some((context.take_state(), *place)),
        _ => None,
    };
    Ok((found, missing))
}

/// A search for a text by one byte of it.
struct Search<'t> {
    subject: Slice,
    text: &'t [u8],
    /// The subject's end.
    end: Word,
    /// Which byte of the text is looked for.
    anchor: usize,
    /// The anchor may stand at positions below this.
    limit: Word,
}

impl Search<'_> {
    /// Looks at the bytes at `at`, of which one may be the anchor.
    fn turn(&self, context: &mut Context<'_>, at: Word) -> Result<Iteration> {
        let (subject, byte) = (self.subject, i64::from(self.text[self.anchor]).wrapping_mul(ONES));
        let mut iteration = Iteration::default();
        let left = context.sub(self.limit, at);
        let over = context.compare(CompareOp::SLe, left, 0);
        let (over, more) = context.split(over);
        iteration.leave_in(over, vec![]);
        context.state = more;
        let near = skip_stride(context, subject, at, self.end, byte, &mut iteration)?;
        context.enter(near)?;
        let remaining = context.sub(self.end, at);
        let whole = Slice { start: Word::Imm(0), ..subject };
        let word = context.word_at(whole, at, remaining)?;
        let zeros = zero_bytes(context, word, byte);
        let zeros = context.and(zeros, HIGHS);
        let none = context.compare(CompareOp::Eq, zeros, 0);
        let (none, some) = context.split(none);
        context.state = none;
        let next = context.add(at, 8);
        iteration.again(context, vec![next]);
        context.state = some;
        let place = candidate(context, at, zeros);
        self.compare(context, place, &mut iteration)?;
        Ok(iteration)
    }

    /// Compares the text at a place where its anchor stands.
    fn compare(&self, context: &mut Context<'_>, place: Word, iteration: &mut Iteration) -> Result<()> {
        let over = context.compare(CompareOp::SGe, place, self.limit);
        let (over, within) = context.split(over);
        iteration.leave_in(over, vec![]);
        context.state = within;
        let start = context.sub(place, self.anchor as i64);
        let mut different = Vec::new();
        if self.text.len() > 1 {
            context.match_bytes(Slice { start, ..self.subject }, self.text, &mut different)?;
        }
        iteration.leave(context, vec![Abs::Int(start)]);
        context.enter(different)?;
        if context.state.alive() {
            let next = context.add(place, 1);
            iteration.again(context, vec![next]);
        }
        Ok(())
    }
}

/// Passes over a stride without the byte; gives the states in which there may be one, or less than a stride is left.
fn skip_stride(
    context: &mut Context<'_>,
    subject: Slice,
    at: Word,
    end: Word,
    byte: i64,
    iteration: &mut Iteration,
) -> Result<Vec<State>> {
    let remaining = context.sub(end, at);
    let short = context.compare(CompareOp::SLt, remaining, STRIDE);
    let (short, long) = context.split(short);
    context.state = long;
    if !context.state.alive() {
        return Ok(vec![short]);
    }
    let address = context.address(subject.space, at, STRIDE as u32)?;
    let mut any = Word::Imm(0);
    for offset in (0..STRIDE).step_by(8) {
        let word = context.load_at(address.plus(offset as i16), Size::B8, false);
        let zeros = zero_bytes(context, word, byte);
        any = context.binary(BinaryOp::Or, any, zeros);
    }
    let any = context.and(any, HIGHS);
    let some = context.compare(CompareOp::Ne, any, 0);
    let (some, none) = context.split(some);
    context.state = none;
    let next = context.add(at, STRIDE);
    iteration.again(context, vec![next]);
    Ok(vec![short, some])
}

/// `(x - 0x01…) & !x` for `x` = the word xor the repeated byte.
fn zero_bytes(context: &mut Context<'_>, word: Word, byte: i64) -> Word {
    let x = context.binary(BinaryOp::Xor, word, byte);
    let less = context.add(x, -ONES);
    let not = context.binary(BinaryOp::Xor, x, -1);
    context.and(less, not)
}

/// The position of the lowest marked byte: its mark, `1 << 8n` after shifting, times `0x0001020304050607` has n on top.
pub(super) fn candidate(context: &mut Context<'_>, at: Word, zeros: Word) -> Word {
    let negative = context.unary(UnaryOp::Neg, zeros);
    let lowest = context.and(zeros, negative);
    let unit = context.shr(lowest, 7);
    let product = context.binary(BinaryOp::Mul, unit, 0x0001_0203_0405_0607);
    let index = context.shr(product, 56);
    context.add(at, index)
}
