//! Strings in lower or upper case, read from the bytes that they are made of.
//!
//! What `string.lower` and `string.upper` give is a view ([`Str::Cased`]): looking it up, comparing it, searching it and copying it change
//! the letters of each word that is read, and nothing is written to memory before. Where bytes in memory are needed they are written there
//! and then, which a loop of the script must not do in every turn: views that it comes with are written before it.

use crate::context::{Context, Result};
use crate::state::Slot;
use crate::strings::Slice;
use crate::value::{Abs, Case, Space, Str, Variant, Word};
use moonhook_ir::BinaryOp;
use moonhook_ir::words::Words;

pub const ONES: i64 = 0x0101_0101_0101_0101;
pub const HIGHS: i64 = 0x8080_8080_8080_8080_u64 as i64;

/// In what letters of the two cases differ: lower case has it.
pub const LETTER_CASE: u8 = 0x20;

impl Case {
    /// A byte in this case.
    pub fn of(self, byte: u8) -> u8 {
        match self {
            Case::Lower => byte.to_ascii_lowercase(),
            Case::Upper => byte.to_ascii_uppercase(),
        }
    }

    /// Whether a text in this case can be `text`.
    pub fn is_kept_by(self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.of(*byte) == *byte)
    }

    /// The first one of the letters that it changes.
    fn first_changed(self) -> u8 {
        match self {
            Case::Lower => b'A',
            Case::Upper => b'a',
        }
    }
}

impl Context<'_> {
    /// A string as a slice that is read in its case.
    pub fn view_of(&mut self, text: &Str) -> Result<Slice> {
        match text {
            Str::Cased { case, space, start, length } => {
                Ok(Slice { case: Some(*case), ..Slice::plain(*space, *start, *length) })
            }
            text => self.slice_of(text),
        }
    }

    /// The bytes of a string in a case: space, offset and length.
    pub fn written_case(&mut self, text: &Str) -> Result<(Space, Word, Word)> {
        match self.copied(text.clone())? {
            Str::Slice { space, start, length } => Ok((space, start, length)),
            _ => self.internal_fault("a copy that is no slice"),
        }
    }

    /// Whether strings in a case are written at once: in what general code calls, and where a view would stand in the way.
    pub fn writes_cases(&self) -> bool {
        self.stub.is_some() || self.known.writes_cases
    }

    /// Up to eight characters of a word in a case. In each byte, the sum of the low 7 bits and `128 - first` has the high bit set from
    /// `first` on, and with `127 - last` from behind the last letter on.
    pub fn in_case(&mut self, word: Word, case: Option<Case>) -> Word {
        let Some(case) = case else { return word };
        let first = i64::from(case.first_changed());
        let low = self.and(word, !HIGHS);
        let from_first = self.add(low, ONES.wrapping_mul(128 - first));
        let behind_last = self.add(low, ONES.wrapping_mul(127 - (first + 25)));
        let letters = self.binary(BinaryOp::Xor, from_first, behind_last);
        let ascii = self.binary(BinaryOp::Xor, word, -1);
        let letters = self.and(letters, ascii);
        let letters = self.and(letters, HIGHS);
        let changes = self.shr(letters, 2);
        self.binary(BinaryOp::Xor, word, changes)
    }

    /// A value whose strings are in memory as they are.
    pub fn with_cases_written(&mut self, value: &Abs) -> Result<Abs> {
        if !has_case(value) {
            return Ok(value.clone());
        }
        self.dispatch_one(value, &mut |context, value| match value {
            Abs::Str(text @ Str::Cased { .. }) => Ok(Abs::Str(context.copied(text)?)),
            other => Ok(other),
        })
    }

    /// Before a loop of the script: strings in a case that variables hold are written, so that no turn has to.
    pub fn write_cases(&mut self) -> Result<()> {
        let innermost = self.execution.calls.len().saturating_sub(1);
        let live = self.execution.live_registers(innermost);
        for register in 0..self.state.registers.len() {
            let value = match &self.state.registers[register] {
                Slot::Direct(value) if live.contains(register) && has_case(value) => value.clone(),
                _ => continue,
            };
            let written = self.with_cases_written(&value)?;
            self.state.registers[register] = Slot::Direct(written);
        }
        let held = self.state.cells.iter().filter(|(_, value)| has_case(value));
        for (cell, value) in held.map(|(cell, value)| (*cell, value.clone())).collect::<Vec<_>>() {
            let written = self.with_cases_written(&value)?;
            self.state.cells.insert(cell, written);
        }
        Ok(())
    }
}

/// Whether it may be a string in a case.
pub fn has_case(value: &Abs) -> bool {
    match value {
        Abs::Str(Str::Cased { .. }) => true,
        Abs::Union(union) => union.variants.iter().any(|variant| matches!(variant, Variant::Cased(..))),
        _ => false,
    }
}

/// Whether it may be a string whose bytes are in that space.
pub fn is_text_in(value: &Abs, wanted: Space) -> bool {
    match value {
        Abs::Str(Str::Slice { space, .. } | Str::Cased { space, .. }) => *space == wanted,
        Abs::Union(union) => union.variants.iter().any(
            |variant| matches!(variant, Variant::Slice(space) | Variant::Cased(_, space) if *space == wanted),
        ),
        _ => false,
    }
}
