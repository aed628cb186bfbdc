//! Keys of stored tables as words: a code for the kind, a word, and a hash.
//!
//! A string of up to 8 bytes is its length and its bytes; a longer one is a place in the region, and is compared by its bytes.

use super::known::KeyWords;
use crate::context::{Context, Result};
use crate::hashing;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Space, Str, Word, integral};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};

/// Codes: lengths up to [`SHORT`] are those of strings.
pub(super) const SHORT: i64 = 8;
pub(super) const LONG: i64 = 9;
pub(super) const INTEGER: i64 = 10;
pub(super) const BOOLEAN: i64 = 11;

impl Context<'_> {
    /// A key of one of the kinds.
    pub(super) fn key_words(&mut self, key: &Abs) -> Result<KeyWords> {
        let plain = |context: &mut Self, code: i64, word: Word| {
            let hash = hashing::emit_step(context, Word::Imm(code), word);
            KeyWords { code: Word::Imm(code), word, hash, space: Space::Scratch }
        };
        Ok(match key {
            Abs::Bool(word) => plain(self, BOOLEAN, *word),
            Abs::Float(_) => {
                let integer = key.known_float().and_then(integral).unwrap_or(0);
                plain(self, INTEGER, Word::Imm(integer))
            }
            Abs::Str(Str::Const(text)) if text.len() <= SHORT as usize => {
                let mut bytes = [0; 8];
                bytes[..text.len()].copy_from_slice(text);
                plain(self, text.len() as i64, Word::Imm(i64::from_le_bytes(bytes)))
            }
            Abs::Str(text) => {
                let slice = self.slice_of(text)?;
                self.text_words(slice)?
            }
            Abs::Int(word) => plain(self, INTEGER, *word),
            _ => plain(self, INTEGER, Word::Imm(0)),
        })
    }

    fn text_words(&mut self, slice: Slice) -> Result<KeyWords> {
        let long = self.compare(CompareOp::UGt, slice.length, SHORT);
        let (long, short) = self.split(long);
        let mut arms = Vec::new();
        self.state = long;
        if self.state.alive() {
            let hash = self.hash_of_long(slice)?;
            let word = self.shl(slice.length, 32);
            let word = self.binary(BinaryOp::Or, word, slice.start);
            let values = [Word::Imm(LONG), word, hash].map(Abs::Int).to_vec();
            arms.push(Arm { state: self.take_state(), values });
        }
        self.state = short;
        if self.state.alive() {
            let word = self.short_word(slice)?;
            let hash = hashing::emit_step(self, slice.length, word);
            let values = [slice.length, word, hash].map(Abs::Int).to_vec();
            arms.push(Arm { state: self.take_state(), values });
        }
        Ok(match self.join(arms)?.as_deref() {
            Some([Abs::Int(code), Abs::Int(word), Abs::Int(hash)]) => {
                KeyWords { code: *code, word: *word, hash: *hash, space: slice.space }
            }
            _ => KeyWords { code: Word::Imm(0), word: Word::Imm(0), hash: Word::Imm(0), space: slice.space },
        })
    }

    /// The bytes of a string of up to 8 bytes.
    fn short_word(&mut self, slice: Slice) -> Result<Word> {
        let empty = self.compare(CompareOp::Eq, slice.length, 0);
        let (empty, some) = self.split(empty);
        self.state = some;
        let word = match self.state.alive() {
            true => self.last_bytes(slice.space, slice.start, slice.length)?,
            false => Word::Imm(0),
        };
        let some = self.take_state();
        self.either(some, word, empty, Word::Imm(0))
    }

    fn hash_of_long(&mut self, slice: Slice) -> Result<Word> {
        let initial = [Word::Imm(0), slice.length];
        let arms = self.repeat(&initial, &mut |context, variables| {
            let mut iteration = Iteration::default();
            let (at, hash) = (variables[0], variables[1]);
            let left = context.sub(slice.length, at);
            let done = context.compare(CompareOp::SLe, left, 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![Abs::Int(hash)]);
            context.state = more;
            let word = context.word_at(slice, at, left)?;
            let hash = hashing::emit_step(context, hash, word);
            let next = context.add(at, 8);
            iteration.again(context, vec![next, hash]);
            Ok(iteration)
        })?;
        self.join_word(arms)
    }
}

/// The string that the word of a longer one stands for.
pub fn long_slice(words: &mut impl Words, word: Word, space: Space) -> Slice {
    let start = words.and(word, 0xffff_ffff);
    let length = words.shr(word, 32);
    Slice::plain(space, start, length)
}
