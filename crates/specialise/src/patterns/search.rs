//! Finding literal text, a machine word at a time.
//!
//! One byte of the text, the one that is rarest in network traffic, is looked for in 8 bytes at once: `(x - 0x01…) & !x &
//! 0x80…` has the high bit of each byte set that is zero in `x`, the word xor the byte repeated, and perhaps of bytes above
//! it, so that its lowest bit is exact. Where it is found, the whole text is compared.

use super::text::Text;
use crate::cases::{HIGHS, LETTER_CASE, ONES};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

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

impl Text {
    /// How common what stands at a position is.
    fn commonness(&self, index: usize) -> u32 {
        let byte = self.bytes[index];
        match self.either[index] {
            true => commonness(byte) + commonness(byte.to_ascii_uppercase()),
            false => commonness(byte),
        }
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
    text: &Text,
) -> Result<(Option<Place>, Vec<State>)> {
    let end = context.add(subject.start, subject.length);
    let anchor = (0..text.len()).min_by_key(|index| text.commonness(*index)).unwrap_or(0);
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
    text: &'t Text,
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
        let mut iteration = Iteration::default();
        let left = context.sub(self.limit, at);
        let over = context.compare(CompareOp::SLe, left, 0);
        let (over, more) = context.split(over);
        iteration.leave_in(over, vec![]);
        context.state = more;
        let remaining = context.sub(self.end, at);
        let short = context.compare(CompareOp::SLt, remaining, STRIDE);
        let (short, long) = context.split(short);
        let mut found = Vec::new();
        context.state = long;
        if context.state.alive() {
            self.stride(context, at, &mut iteration, &mut found)?;
        }
        context.state = short;
        if context.state.alive() {
            let whole = Slice { start: Word::Imm(0), ..self.subject };
            let word = context.word_at(whole, at, remaining)?;
            self.leave_with_marks(context, at, word, &mut found);
            let next = context.add(at, 8);
            iteration.again(context, vec![next]);
        }
        if let Some([Abs::Int(at), Abs::Int(marks)]) = context.join(found)?.as_deref() {
            let place = candidate(context, *at, *marks);
            self.compare(context, place, &mut iteration)?;
        }
        Ok(iteration)
    }

    /// Where a word has the anchor, the path leaves with the word's position and its marks.
    fn leave_with_marks(&self, context: &mut Context<'_>, at: Word, word: Word, found: &mut Vec<Arm>) {
        let marks = self.marks(context, word);
        let some = context.compare(CompareOp::Ne, marks, 0);
        let (some, none) = context.split(some);
        found.push(Arm { state: some, values: vec![Abs::Int(at), Abs::Int(marks)] });
        context.state = none;
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
            let here = Slice { start, ..self.subject };
            context.match_letters(here, &self.text.bytes, &self.text.either, &mut different)?;
        }
        iteration.leave(context, vec![Abs::Int(start)]);
        context.enter(different)?;
        if context.state.alive() {
            let next = context.add(place, 1);
            iteration.again(context, vec![next]);
        }
        Ok(())
    }

    /// A stride: looked at as a whole first, in a way that also takes bytes for the anchor that are no ASCII.
    fn stride(
        &self,
        context: &mut Context<'_>,
        at: Word,
        iteration: &mut Iteration,
        found: &mut Vec<Arm>,
    ) -> Result<()> {
        let address = context.address(self.subject.space, at, STRIDE as u32)?;
        let mut any = Word::Imm(0);
        for offset in (0..STRIDE).step_by(8) {
            let word = context.load_at(address.plus(offset as i16), Size::B8, false);
            let x = self.difference(context, word);
            let less = context.add(x, -ONES);
            any = context.binary(BinaryOp::Or, any, less);
        }
        let any = context.and(any, HIGHS);
        let none = context.compare(CompareOp::Eq, any, 0);
        let (none, some) = context.split(none);
        context.state = none;
        let next = context.add(at, STRIDE);
        iteration.again(context, vec![next]);
        context.state = some;
        for offset in (0..STRIDE).step_by(8) {
            let word = context.load_at(address.plus(offset as i16), Size::B8, false);
            let here = context.add(at, offset);
            self.leave_with_marks(context, here, word, found);
        }
        let next = context.add(at, STRIDE);
        iteration.again(context, vec![next]);
        Ok(())
    }

    /// `x`: zero in the bytes that are the anchor.
    fn difference(&self, context: &mut Context<'_>, word: Word) -> Word {
        let byte = i64::from(self.text.bytes[self.anchor]).wrapping_mul(ONES);
        let word = match self.text.either[self.anchor] {
            true => context.binary(BinaryOp::Or, word, i64::from(LETTER_CASE) * ONES),
            false => word,
        };
        context.binary(BinaryOp::Xor, word, byte)
    }

    /// `(x - 0x01…) & !x & 0x80…`
    fn marks(&self, context: &mut Context<'_>, word: Word) -> Word {
        let x = self.difference(context, word);
        let less = context.add(x, -ONES);
        let not = context.binary(BinaryOp::Xor, x, -1);
        let zeros = context.and(less, not);
        context.and(zeros, HIGHS)
    }
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
