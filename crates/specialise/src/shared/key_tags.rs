//! Versions that tell whose entry it is. The kernel may give the memory of a deleted entry to another key at any time, so whoever reads an
//! entry in several words has to know that it is still the one that was looked up ([`super::copies`]). A second lookup says so; for less, so does
//! the version, if the lower part of it is a *tag* of the key: a number that hardly any other key has.
//!
//! Handlers write tags, user space does not. Where there is none, or another one, the second lookup is made.

use crate::context::Context;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::words::Words;
use moonhook_ir::{BinaryOp, Size};
use moonhook_schema::Schema;

/// Words of a key that a tag is made of, at most: for more, a lookup takes less time.
const WORDS: usize = 12;
/// Fields of a record with tags, at most: they leave a tag 24 bits.
const FIELDS: u32 = 8;
/// Odd, with as many ones as zeros and no pattern: of the golden ratio.
const SPREAD: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

/// The bits of a version that are the key's tag: those of a record's first word from the last field on to the middle.
pub(super) fn bits_of_tag(schema: &Schema) -> Option<i64> {
    let fields = schema.version_start().filter(|fields| *fields <= FIELDS)?;
    // In tables of prefixes an entry has another key than what finds it.
    let is_tagged = !schema.is_prefixes() && schema.key_size() <= 8 * WORDS;
    is_tagged.then_some(i64::from(u32::MAX) & -1 << fields)
}

impl Context<'_> {
    /// The tag of the key whose bytes are at an address, at its place in the version.
    pub(super) fn tag_of_key(&mut self, schema: &Schema, key: ir::Value) -> Option<Word> {
        let bits = bits_of_tag(schema)?;
        let mut mixed = Word::Imm(0);
        for disp in (0..schema.key_size() as i16).step_by(8) {
            let word = self.load(key, disp, Size::B8, false);
            mixed = self.binary(BinaryOp::Xor, mixed, word);
            mixed = self.binary(BinaryOp::Mul, mixed, SPREAD);
        }
        // What a product has on top depends on all of what was multiplied.
        let mixed = self.shr(mixed, 32);
        Some(self.and(mixed, bits))
    }
}
