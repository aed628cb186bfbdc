//! Concatenation: the pieces are written one behind another into the scratch region, numbers at once as their text.

use crate::context::{Context, Result};
use crate::decimals;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, Size};

/// Known text up to this length is written by constants, longer text is copied.
const MAX_IMMEDIATE: usize = 64;

/// Bytes that the text of any integer fits into, and that of an IPv4 address; both in whole words.
const INTEGER_ROOM: i64 = 24;
const IPV4_ROOM: i64 = 16;

/// A part of a text.
pub enum Piece {
    Known(Vec<u8>),
    Integer(Word),
    Ipv4(Word),
    Slice(Slice),
}

impl Piece {
    /// Its length, or what that is at most.
    pub fn room(&self) -> Word {
        match self {
            Piece::Known(text) => Word::Imm(text.len() as i64),
            Piece::Integer(_) => Word::Imm(INTEGER_ROOM),
            Piece::Ipv4(_) => Word::Imm(IPV4_ROOM),
            Piece::Slice(slice) => slice.length,
        }
    }
}

impl Context<'_> {
    /// `a .. b .. c` of strings and integers.
    pub fn concatenate(&mut self, parts: &[Abs]) -> Result<Abs> {
        let parts = joined_constants(parts);
        match parts.as_slice() {
            [] => return Ok(Abs::text("")),
            [Abs::Int(word)] => return Ok(Abs::Str(self.integer_text(*word)?)),
            [only] => return Ok(only.clone()),
            _ => {}
        }
        let mut pieces = Vec::new();
        for part in &parts {
            match part {
                Abs::Str(Str::Const(text)) => pieces.push(Piece::Known(text.to_vec())),
                Abs::Str(Str::Ipv4(address)) => pieces.push(Piece::Ipv4(*address)),
                Abs::Str(text) => pieces.push(Piece::Slice(self.view_of(text)?)),
                Abs::Int(word) => pieces.push(Piece::Integer(*word)),
                _ => {}
            }
        }
        let mut room = Word::Imm(0);
        for piece in &pieces {
            room = self.add(room, piece.room());
        }
        let start = self.allocate(room)?;
        let mut to = start;
        for piece in &pieces {
            to = self.write_piece(piece, to)?;
        }
        let exact = pieces.iter().all(|piece| matches!(piece, Piece::Known(_) | Piece::Slice(_)));
        let length = if exact { room } else { self.sub(to, start) };
        if !exact {
            self.around.shorten_concatenation(self, to);
        }
        Ok(Abs::Str(Str::Slice { space: Space::Scratch, start, length }))
    }

    /// Writes a piece; gives its end.
    pub fn write_piece(&mut self, piece: &Piece, to: Word) -> Result<Word> {
        match piece {
            Piece::Known(text) if text.len() <= MAX_IMMEDIATE => {
                self.write_known(text, to)?;
                Ok(self.add(to, text.len() as i64))
            }
            Piece::Known(text) => {
                let slice = self.slice_of(&Str::Const(text.as_slice().into()))?;
                self.copy_to(slice, to)
            }
            Piece::Integer(word) => self.write_integer(*word, to),
            Piece::Ipv4(address) => crate::addresses::put_ipv4(self, *address, to),
            Piece::Slice(slice) => self.copy_to(*slice, to),
        }
    }

    fn copy_to(&mut self, slice: Slice, to: Word) -> Result<Word> {
        self.copy_slice(slice, &mut |context, at| {
            let place = context.add(to, at);
            context.address(Space::Scratch, place, 8)
        })?;
        Ok(self.add(to, slice.length))
    }

    /// Writes known text, and up to 7 bytes behind it.
    fn write_known(&mut self, text: &[u8], to: Word) -> Result<()> {
        let address = self.address(Space::Scratch, to, 8)?;
        for (index, chunk) in text.chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            let size = match chunk.len() {
                1 => Size::B1,
                2 => Size::B2,
                3 | 4 => Size::B4,
                _ => Size::B8,
            };
            let place = address.plus(8 * index as i16);
            self.store(place.base, place.disp, size, i64::from_le_bytes(bytes));
        }
        Ok(())
    }

    /// Writes an integer's decimal text, and other bytes behind it; gives the text's end.
    pub fn write_integer(&mut self, word: Word, to: Word) -> Result<Word> {
        let range = self.range(word);
        if range.within(0, decimals::LIMIT - 1) {
            return self.write_small(word, range.max, to);
        }
        let small = self.compare_apart(CompareOp::ULt, word, decimals::LIMIT);
        let (small, other) = self.split(small);
        self.state = small;
        let end = self.write_small(word, decimals::LIMIT - 1, to)?;
        let mut arms = vec![Arm { state: self.take_state(), values: vec![Abs::Int(end)] }];
        self.state = other;
        if let Some(block) = self.state.block {
            self.code.function.block_mut(block).cold = true;
            let text = crate::formatting::long_decimal(self, word)?;
            let slice = self.slice_of(&text)?;
            let end = self.copy_to(slice, to)?;
            arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(end)] });
        }
        let end = match self.join(arms)?.as_deref() {
            Some([Abs::Int(end)]) => *end,
            _ => to,
        };
        Ok(self.unknown(end))
    }

    fn write_small(&mut self, number: Word, most: i64, to: Word) -> Result<Word> {
        let (text, count) = decimals::word_of(self, number, most);
        let address = self.address(Space::Scratch, to, 8)?;
        let size = if most < 10_000 { Size::B4 } else { Size::B8 };
        self.store(address.base, address.disp, size, text);
        Ok(self.add(to, count))
    }
}

/// The parts with neighbouring constants as one, and without empty ones.
fn joined_constants(parts: &[Abs]) -> Vec<Abs> {
    let mut joined: Vec<Abs> = Vec::new();
    for part in parts {
        let text = match part {
            Abs::Str(Str::Const(text)) => text.to_vec(),
            Abs::Int(Word::Imm(value)) => value.to_string().into_bytes(),
            other => {
                joined.push(other.clone());
                continue;
            }
        };
        match joined.last_mut() {
            _ if text.is_empty() => {}
            Some(Abs::Str(Str::Const(last))) => *last = [&**last, &text].concat().into(),
            _ => joined.push(Abs::text(text)),
        }
    }
    joined
}
