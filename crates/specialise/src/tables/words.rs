//! Strings of bounded length by whole machine words: those that tell a table's keys apart, and comparing with one key.
//!
//! Where no key is shorter than a word, one comparison with the end of the subject's space is enough for all words that every
//! key has. What follows them is covered by the words at multiples of 8 and by the last 8 bytes, which overlap.

use super::keys::leave;
use crate::context::{Context, Result};
use crate::hashing;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::tables::bounded;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use std::collections::HashSet;

/// Bytes of a word.
const WORD: usize = 8;

/// Words at the start of keys that are looked at to tell them apart.
const CANDIDATES: usize = 32;

/// A whole word of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The offset of its first byte.
    At(usize),
    /// The last 8 bytes.
    Last,
}

impl Place {
    /// The word of a string that has it, little-endian.
    fn of(self, text: &[u8]) -> i64 {
        let start = match self {
            Place::At(start) => start,
            Place::Last => text.len() - WORD,
        };
        let mut word = [0; WORD];
        word.copy_from_slice(&text[start..start + WORD]);
        i64::from_le_bytes(word)
    }
}

/// The lengths that a table's keys have.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    pub shortest: usize,
    pub longest: usize,
}

impl Lengths {
    pub fn of(keys: &[&[u8]]) -> Lengths {
        let lengths = || keys.iter().map(|key| key.len());
        Lengths { shortest: lengths().min().unwrap_or(0), longest: lengths().max().unwrap_or(0) }
    }

    /// Bytes of the whole words that all keys start with.
    fn common(self) -> usize {
        self.shortest / WORD * WORD
    }
}

/// A few words that all keys have and that, with the length, no two keys have alike; `None` if there are no such words. What
/// other strings have in them does not matter: what a hash finds is compared.
pub fn telling_apart(keys: &[&[u8]]) -> Option<Vec<Place>> {
    let common = Lengths::of(keys).common();
    if common == 0 {
        return None;
    }
    let starts = (0..common / WORD).take(CANDIDATES).map(|index| Place::At(index * WORD));
    let candidates: Vec<Place> = [Place::Last].into_iter().chain(starts).collect();
    // Keys that are alike so far have the same number.
    let mut classes: Vec<i64> = keys.iter().map(|key| key.len() as i64).collect();
    let mut count = distinct(&classes);
    let mut chosen = Vec::new();
    while count < keys.len() {
        let with = |place: &Place| -> Vec<i64> {
            let pairs = classes.iter().zip(keys);
            pairs.map(|(class, key)| hashing::step(*class, place.of(key))).collect()
        };
        // The first of equally good ones.
        let mut best = None;
        for place in &candidates {
            let classes = with(place);
            let found = distinct(&classes);
            if found > count {
                (count, best) = (found, Some((*place, classes)));
            }
        }
        let (place, next) = best?;
        chosen.push(place);
        classes = next;
    }
    Some(chosen)
}

fn distinct(classes: &[i64]) -> usize {
    classes.iter().collect::<HashSet<_>>().len()
}

/// The hash of a key by these words of it.
pub fn hash_key(key: &[u8], places: &[Place]) -> i64 {
    let words = places.iter().map(|place| place.of(key));
    hashing::finish(words.fold(key.len() as i64, hashing::step))
}

/// A slice whose length is one of a table's keys, and where its words are.
pub struct Subject {
    slice: Slice,
    lengths: Lengths,
    /// Of the words that all keys have.
    first: Address,
    /// Of the last 8 bytes.
    last: Address,
}

impl Subject {
    /// The slice's length is within `lengths`, which are at least 8.
    pub fn new(context: &mut Context<'_>, slice: Slice, lengths: Lengths) -> Result<Subject> {
        let Lengths { shortest, longest } = lengths;
        let proved = if shortest == longest { longest } else { lengths.common() };
        let first = context.address(slice.space, slice.start, proved as u32)?;
        let last = if shortest == longest {
            first.plus((longest - WORD) as i16)
        } else {
            let end = context.add(slice.start, slice.length);
            let start = context.sub(end, WORD as i64);
            context.address(slice.space, start, WORD as u32)?
        };
        Ok(Subject { slice, lengths, first, last })
    }

    fn word(&self, context: &mut Context<'_>, place: Place) -> Word {
        let address = match place {
            Place::At(start) => self.first.plus(start as i16),
            Place::Last => self.last,
        };
        let word = context.load_at(address, Size::B8, false);
        context.in_case(word, self.slice.case)
    }

    /// What [`hash_key`] computes.
    pub fn hash(&self, context: &mut Context<'_>, places: &[Place]) -> Word {
        let mut hash = self.slice.length;
        for place in places {
            let word = self.word(context, *place);
            hash = hashing::emit_step(context, hash, word);
        }
        hashing::emit_step(context, hash, Word::Imm(0))
    }

    /// Leaves, to `missing`, where the slice is not the key of the same length at `offset` of the section `keys`. From any
    /// offset below `total`, rounded up to a power of two, `longest` bytes may be read.
    pub fn compare(
        &self,
        context: &mut Context<'_>,
        keys: ir::MapId,
        offset: Word,
        total: usize,
        missing: &mut Vec<State>,
    ) -> Result<()> {
        let Lengths { shortest, longest } = self.lengths;
        let base = context.emit(Op::DataAddress { map: keys, offset: 0 });
        let key_at = |context: &mut Context<'_>, offset: Word| {
            let offset = bounded(context, offset, total);
            let offset = context.value(offset);
            Address { base: context.emit(Op::Binary(BinaryOp::Add, base, offset.into())), disp: 0 }
        };
        let key = key_at(context, offset);
        let common = self.lengths.common();
        for start in (0..common).step_by(WORD) {
            self.compare_word(context, Place::At(start), key.plus(start as i16), missing);
        }
        // Words that only longer keys have, as far as the slice goes.
        let mut ended = Vec::new();
        for start in (common..longest / WORD * WORD).step_by(WORD) {
            let over = context.compare(CompareOp::SLt, self.slice.length, (start + WORD) as i64);
            leave(context, over, &mut ended);
            let offset = context.add(self.slice.start, start as i64);
            let address = context.address(self.slice.space, offset, WORD as u32)?;
            let word = context.load_at(address, Size::B8, false);
            let word = context.in_case(word, self.slice.case);
            compare_words(context, word, key.plus(start as i16), missing);
        }
        ended.push(context.take_state());
        context.join(ended.into_iter().map(|state| Arm { state, values: vec![] }).collect())?;
        if shortest == longest && longest.is_multiple_of(WORD) {
            return Ok(());
        }
        let key = if shortest == longest {
            key.plus((longest - WORD) as i16)
        } else {
            let end = context.add(offset, self.slice.length);
            let start = context.sub(end, WORD as i64);
            key_at(context, start)
        };
        self.compare_word(context, Place::Last, key, missing);
        Ok(())
    }

    fn compare_word(&self, context: &mut Context<'_>, place: Place, key: Address, missing: &mut Vec<State>) {
        let word = self.word(context, place);
        compare_words(context, word, key, missing);
    }
}

fn compare_words(context: &mut Context<'_>, word: Word, key: Address, missing: &mut Vec<State>) {
    let stored = context.load_at(key, Size::B8, false);
    let differs = context.compare(CompareOp::Ne, stored, word);
    leave(context, differs, missing);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(keys: &[&str]) -> Option<Vec<Place>> {
        telling_apart(&keys.iter().map(|key| key.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn few_words_are_enough() {
        assert_eq!(choose(&["host1.example", "host22.example"]), Some(vec![]), "their lengths differ");
        assert_eq!(choose(&["abcdefgh.com", "bbcdefgh.com"]), Some(vec![Place::At(0)]));
        assert_eq!(choose(&["abcdefgh.com", "abcdefgh.org"]), Some(vec![Place::Last]));
        let four = ["a-------------a", "a-------------b", "b-------------a", "b-------------b"];
        assert_eq!(choose(&four), Some(vec![Place::Last, Place::At(0)]));
    }

    #[test]
    fn keys_without_words_that_tell_them_apart_need_all_their_bytes() {
        assert_eq!(choose(&["short", "other"]), None);
        let (a, b) = ("12345678ab12345678", "12345678cd12345678");
        assert_eq!(choose(&[a, b]), Some(vec![Place::At(8)]));
        let long = |middle: &str| format!("{}{middle}{}", "x".repeat(8 * CANDIDATES), "y".repeat(16));
        assert_eq!(choose(&[&long("a"), &long("b")]), None);
    }

    #[test]
    fn keys_that_are_told_apart_have_different_hashes() {
        let keys: Vec<String> = (0..500).map(|n| format!("host-{n:03}.beacon.example")).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let places = telling_apart(&keys).unwrap();
        let hashes: HashSet<i64> = keys.iter().map(|key| hash_key(key, &places)).collect();
        assert_eq!((hashes.len(), places.len()), (keys.len(), 1));
    }
}
