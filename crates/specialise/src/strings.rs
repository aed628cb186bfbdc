//! Strings at packet time: length and bytes ([`crate::comparison`] has equality and order).
//!
//! Bytes are read a machine word at a time. The bytes at a string's end that do not fill a word are read as the upper part
//! of the word that ends there; what lies before the string in that word is shifted out. All spaces keep 8 readable bytes
//! before any string for that, except the very first bytes of a frame.

use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::value::{Abs, Case, Space, Str, Word};
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{CompareOp, Size};

/// A string slice in words: where, first byte, length; and the case in which its bytes are read, if not as they are.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    pub space: Space,
    pub start: Word,
    pub length: Word,
    pub case: Option<Case>,
}

impl Slice {
    /// Bytes as they are.
    pub fn plain(space: Space, start: Word, length: Word) -> Slice {
        Slice { space, start, length, case: None }
    }

    /// The string that it is.
    pub fn text(self) -> Str {
        let Slice { space, start, length, case } = self;
        match case {
            None => Str::Slice { space, start, length },
            Some(case) => Str::Cased { case, space, start, length },
        }
    }
}

/// Lua's conversion of a string to an integer (manual § 3.4.3; `l_str2int`): `None` for floats and what is no number.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_matches([' ', '\x0c', '\n', '\r', '\t', '\x0b']);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) if !hex.is_empty() => hex
            .chars()
            .try_fold(0i64, |value, c| Some(value.wrapping_mul(16).wrapping_add(c.to_digit(16)?.into())))?,
        Some(_) => return None,
        None if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => return None,
        None => {
            let value = digits.parse::<u64>().ok()?;
            let limit = i64::MAX as u64 + u64::from(negative);
            if value > limit {
                return None;
            }
            value as i64
        }
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

impl Context<'_> {
    pub fn string_length(&mut self, text: &Str) -> Result<Word> {
        match text {
            Str::Const(bytes) => Ok(Word::Imm(bytes.len() as i64)),
            Str::Mac(_) => Ok(Word::Imm(17)),
            text => Ok(self.view_of(text)?.length),
        }
    }

    /// Up to 8 bytes at `at` of the slice, of which `left` (at least 1) remain, as a little-endian word, padded with
    /// zeros.
    pub fn word_at(&mut self, slice: Slice, at: Word, left: Word) -> Result<Word> {
        let whole = self.compare(CompareOp::SGe, left, 8);
        let (whole, part) = self.split(whole);
        let mut arms = Vec::new();
        self.state = whole;
        if self.state.alive() {
            let offset = self.add(slice.start, at);
            let address = self.address(slice.space, offset, 8)?;
            let word = self.load_at(address, Size::B8, false);
            let state = self.take_state();
            arms.push(Arm { state, values: vec![Abs::Int(word)] });
        }
        self.state = part;
        if self.state.alive() {
            let offset = self.add(slice.start, at);
            let word = self.last_bytes(slice.space, offset, left)?;
            let state = self.take_state();
            arms.push(Arm { state, values: vec![Abs::Int(word)] });
        }
        let word = self.join_word(arms)?;
        Ok(self.in_case(word, slice.case))
    }

    /// The 1 to 7 bytes at `offset` as a little-endian word, padded with zeros.
    pub fn last_bytes(&mut self, space: Space, offset: Word, count: Word) -> Result<Word> {
        let end = self.add(offset, count);
        let early = match space {
            Space::Packet if self.range(offset).min < 8 => self.compare(CompareOp::SLt, end, 8),
            _ => Cond::Known(false),
        };
        let bits = self.shl(count, 3);
        let unused = self.sub(64, bits);
        let (early, usual) = self.split(early);
        self.state = usual;
        let from = self.sub(end, 8);
        let address = self.address(space, from, 8)?;
        let word = self.load_at(address, Size::B8, false);
        let word = self.shr(word, unused);
        let mut arms = vec![Arm { state: self.take_state(), values: vec![Abs::Int(word)] }];
        // No frame is shorter than an Ethernet header of 14 bytes, so that 8 bytes can be read from 0 to 6 on.
        self.state = early;
        if self.state.alive() {
            let address = self.address(space, offset, 8)?;
            let word = self.load_at(address, Size::B8, false);
            let word = self.shl(word, unused);
            let word = self.shr(word, unused);
            arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(word)] });
        }
        self.join_word(arms)
    }
}

/// How to cover `length` bytes by loads: offsets and sizes, the last ones overlapping.
pub fn pieces(length: usize) -> Vec<(usize, Size)> {
    match length {
        0 => vec![],
        1 => vec![(0, Size::B1)],
        2 => vec![(0, Size::B2)],
        3 => vec![(0, Size::B2), (2, Size::B1)],
        4 => vec![(0, Size::B4)],
        5..=7 => vec![(0, Size::B4), (length - 4, Size::B4)],
        _ => {
            let mut pieces: Vec<_> = (0..length / 8).map(|n| (n * 8, Size::B8)).collect();
            if !length.is_multiple_of(8) {
                pieces.push((length - 8, Size::B8));
            }
            pieces
        }
    }
}

impl Context<'_> {
    /// [`Context::slice`] as one value.
    pub fn slice_of(&mut self, text: &Str) -> Result<Slice> {
        let (space, start, length) = self.slice(text)?;
        Ok(Slice::plain(space, start, length))
    }

    /// The byte at an offset that lies within the slice.
    pub fn byte_at(&mut self, slice: Slice, at: Word) -> Result<Word> {
        let place = self.add(slice.start, at);
        let address = self.address(slice.space, place, 1)?;
        let byte = self.load_at(address, Size::B1, false);
        Ok(self.in_case(byte, slice.case))
    }

    /// Looks for the first byte of a slice for which a condition holds. One arm for each path out, with the byte's offset
    /// from the slice's start, or the slice's length where there is none.
    pub fn first_byte_where(
        &mut self,
        slice: Slice,
        condition: &mut dyn FnMut(&mut Self, Word) -> Result<Cond>,
    ) -> Result<Vec<Arm>> {
        self.repeat(&[Word::Imm(0)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let over = context.compare(CompareOp::SGe, at, slice.length);
            let (over, within) = context.split(over);
            iteration.leave_in(over, vec![Abs::Int(slice.length)]);
            context.state = within;
            let byte = context.byte_at(slice, at)?;
            let found = condition(context, byte)?;
            let (found, other) = context.split(found);
            iteration.leave_in(found, vec![Abs::Int(at)]);
            context.state = other;
            let next = context.add(at, 1);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })
    }
}
