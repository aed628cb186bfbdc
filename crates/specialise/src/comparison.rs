//! Equality and order of strings at packet time, a machine word at a time.

use crate::cases::LETTER_CASE;
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::{Slice, pieces};
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, UnaryOp};

impl Context<'_> {
    /// `a == b` as a word.
    pub fn strings_equal(&mut self, a: &Str, b: &Str) -> Result<Word> {
        let (equal, different) = self.split_equal(a, b)?;
        let arm = |state, known| Arm { state, values: vec![Abs::bool(known)] };
        let mut arms: Vec<Arm> = equal.into_iter().map(|state| arm(state, true)).collect();
        arms.extend(different.into_iter().map(|state| arm(state, false)));
        Ok(match self.join(arms)?.as_deref() {
            Some([Abs::Bool(word)]) => *word,
            _ => Word::Imm(0),
        })
    }

    /// Splits the current state: where the strings are equal, and where they are not.
    pub fn split_equal(&mut self, a: &Str, b: &Str) -> Result<(Vec<State>, Vec<State>)> {
        let cond = match (a, b) {
            (Str::Const(a), Str::Const(b)) => Cond::Known(a == b),
            (Str::Ipv4(a), Str::Ipv4(b)) | (Str::Mac(a), Str::Mac(b)) => self.compare(CompareOp::Eq, *a, *b),
            (Str::Ipv4(a), Str::Const(text)) | (Str::Const(text), Str::Ipv4(a)) => {
                match crate::literals::ipv4(text) {
                    Some(b) => self.compare(CompareOp::Eq, *a, b),
                    None => Cond::Known(false),
                }
            }
            (Str::Mac(a), Str::Const(text)) | (Str::Const(text), Str::Mac(a)) => {
                match crate::literals::mac(text) {
                    Some(b) => self.compare(CompareOp::Eq, *a, b),
                    None => Cond::Known(false),
                }
            }
            (Str::Ipv6(high, low), Str::Const(text)) | (Str::Const(text), Str::Ipv6(high, low)) => {
                return Ok(match crate::literals::ipv6(text) {
                    Some([h, l]) => self.split_both(*high, Word::Imm(h), *low, Word::Imm(l)),
                    None => (vec![], vec![self.take_state()]),
                });
            }
            (Str::Ipv6(h1, l1), Str::Ipv6(h2, l2)) => return Ok(self.split_both(*h1, *h2, *l1, *l2)),
            (Str::Ipv4(_), Str::Ipv6(..) | Str::Mac(_))
            | (Str::Ipv6(..), Str::Ipv4(_) | Str::Mac(_))
            | (Str::Mac(_), Str::Ipv4(_) | Str::Ipv6(..)) => Cond::Known(false),
            (Str::Const(text), other) | (other, Str::Const(text)) => {
                let slice = self.view_of(other)?;
                return self.split_equal_constant(slice, text);
            }
            (a, b) => {
                let (a, b) = (self.view_of(a)?, self.view_of(b)?);
                return self.split_equal_slices(a, b);
            }
        };
        let (then, otherwise) = self.split(cond);
        Ok((vec![then], vec![otherwise]))
    }

    fn split_both(&mut self, a: Word, b: Word, c: Word, d: Word) -> (Vec<State>, Vec<State>) {
        let first = self.compare(CompareOp::Eq, a, b);
        let (same, differ) = self.split(first);
        self.state = same;
        let second = self.compare(CompareOp::Eq, c, d);
        let (same, also) = self.split(second);
        (vec![same], vec![differ, also])
    }

    /// A slice against known bytes: the length first, then word after word, the last one overlapping.
    pub fn split_equal_constant(&mut self, slice: Slice, text: &[u8]) -> Result<(Vec<State>, Vec<State>)> {
        if slice.case.is_some_and(|case| !case.is_kept_by(text)) {
            return Ok((vec![], vec![self.take_state()]));
        }
        let cond = self.compare(CompareOp::Eq, slice.length, text.len() as i64);
        let (same, other) = self.split(cond);
        let mut different = vec![other];
        self.state = same;
        if !self.state.alive() || text.is_empty() {
            return Ok((vec![self.take_state()], different));
        }
        self.match_bytes(slice, text, &mut different)?;
        Ok((vec![self.take_state()], different))
    }

    /// Leaves, to `different`, where the slice does not start with `text`; the slice is at least that long, and `text` is in its case.
    pub fn match_bytes(&mut self, slice: Slice, text: &[u8], different: &mut Vec<State>) -> Result<()> {
        let either: Vec<bool> =
            text.iter().map(|byte| slice.case.is_some() && byte.is_ascii_alphabetic()).collect();
        self.match_letters(slice, text, &either, different)
    }

    /// As [`Context::match_bytes`], of bytes as they are, where those of `text` that are marked in `either` are letters in either case.
    pub fn match_letters(
        &mut self,
        slice: Slice,
        text: &[u8],
        either: &[bool],
        different: &mut Vec<State>,
    ) -> Result<()> {
        const CHUNK: usize = moonhook_packet::COMMON_REACH as usize;
        for (index, chunk) in text.chunks(CHUNK).enumerate() {
            let start = self.add(slice.start, (index * CHUNK) as i64);
            let address = self.address(slice.space, start, chunk.len() as u32)?;
            for (offset, size) in pieces(chunk.len()) {
                let (mut bytes, mut letters) = ([0; 8], [0; 8]);
                for at in 0..size as usize {
                    // A letter in lower case is what the letter in either case becomes by this bit, and nothing else does.
                    letters[at] = if either[index * CHUNK + offset + at] { LETTER_CASE } else { 0 };
                    bytes[at] = chunk[offset + at] | letters[at];
                }
                let word = self.load_at(address.plus(offset as i16), size, false);
                let word = self.binary(BinaryOp::Or, word, i64::from_le_bytes(letters));
                let cond = self.compare(CompareOp::Eq, word, i64::from_le_bytes(bytes));
                let (same, other) = self.split(cond);
                different.push(other);
                self.state = same;
            }
        }
        Ok(())
    }

    /// Two slices.
    pub fn split_equal_slices(&mut self, a: Slice, b: Slice) -> Result<(Vec<State>, Vec<State>)> {
        let cond = self.compare(CompareOp::Eq, a.length, b.length);
        let (same, other) = self.split(cond);
        self.state = same;
        let mut arms = vec![Arm { state: other, values: vec![Abs::FALSE] }];
        arms.extend(self.compare_words(a, b, a.length)?);
        let mut result = (vec![], vec![]);
        for arm in arms {
            // The difference is 0 exactly where the strings are equal.
            match arm.values.first() {
                Some(Abs::Int(word)) => {
                    self.state = arm.state;
                    let cond = self.compare(CompareOp::Eq, *word, 0);
                    let (then, otherwise) = self.split(cond);
                    result.0.push(then);
                    result.1.push(otherwise);
                }
                _ => result.1.push(arm.state),
            }
        }
        Ok(result)
    }

    /// Compares `length` bytes of both, a word at a time. Each arm carries one value: -1, 0 or 1, by the first
    /// difference in byte order.
    fn compare_words(&mut self, a: Slice, b: Slice, length: Word) -> Result<Vec<Arm>> {
        self.repeat(&[Word::Imm(0)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let left = context.sub(length, at);
            let done = context.compare(CompareOp::SLe, left, 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![Abs::int(0)]);
            context.state = more;
            let x = context.word_at(a, at, left)?;
            let y = context.word_at(b, at, left)?;
            let same = context.compare(CompareOp::Eq, x, y);
            let (same, differ) = context.split(same);
            context.state = differ;
            let (x, y) = (context.unary(UnaryOp::Swap64, x), context.unary(UnaryOp::Swap64, y));
            let less = context.compare(CompareOp::ULt, x, y);
            let (less, greater) = context.split(less);
            iteration.leave_in(less, vec![Abs::int(-1)]);
            iteration.leave_in(greater, vec![Abs::int(1)]);
            context.state = same;
            let next = context.add(at, 8);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })
    }

    /// The order of two strings by their bytes, as -1, 0, 1 (`l_strcmp` in the C locale).
    pub fn strings_compare(&mut self, a: &Str, b: &Str) -> Result<Word> {
        if let (Str::Const(a), Str::Const(b)) = (a, b) {
            return Ok(Word::Imm(a.cmp(b) as i64));
        }
        let (a, b) = (self.view_of(a)?, self.view_of(b)?);
        let shorter = self.minimum(a.length, b.length)?;
        let arms = self.compare_words(a, b, shorter)?;
        let Some(values) = self.join(arms)? else { return Ok(Word::Imm(0)) };
        let Some(Abs::Int(sign)) = values.first() else { return Ok(Word::Imm(0)) };
        let sign = *sign;
        // Where the shorter one is a prefix of the other, the lengths decide.
        let tie = self.compare(CompareOp::Eq, sign, 0);
        let (tie, decided) = self.split(tie);
        self.state = tie;
        let difference = self.sub(a.length, b.length);
        let state = self.take_state();
        let arms = vec![
            Arm { state: decided, values: vec![Abs::Int(sign)] },
            Arm { state, values: vec![Abs::Int(difference)] },
        ];
        self.join_word(arms)
    }
}
