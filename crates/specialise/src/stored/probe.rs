//! Finding the entry of a key, or the free one where it belongs: open addressing, one entry after another.

use super::keys::LONG;
use super::known::{Found, KeyWords};
use super::{E_KEY, ENTRY, H_ENTRIES, H_MASK, H_STAMP};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::state::State;
use crate::stored::keys::long_slice;
use crate::stored::table_field;
use crate::value::{Abs, Space, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};

impl Context<'_> {
    /// The entry for a key; not looked for again as long as nothing came into the table.
    pub(super) fn find_entry(&mut self, table: u32, key: &Abs) -> Result<Found> {
        let known = self.state.facts.found.iter().find(|found| found.table == table && found.key == *key);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let words = self.key_words(key)?;
        let (entry, stamp) = self.probe(table, &words)?;
        let found = Found { table, key: key.clone(), words, entry, stamp };
        self.state.facts.found.push(found.clone());
        Ok(found)
    }

    /// The offset of the entry that has the key or is free, and the table's stamp.
    fn probe(&mut self, table: u32, key: &KeyWords) -> Result<(Word, Word)> {
        let header = self.table_header(table)?;
        let stamp = table_field(self, header, H_STAMP);
        let mask = table_field(self, header, H_MASK);
        let entries = table_field(self, header, H_ENTRIES);
        let wanted = self.binary(BinaryOp::Or, stamp, key.code);
        let entry = self.visit_from(key.hash, (entries, mask), &mut |context, offset, iteration| {
            let place = context.entry_at(offset)?;
            let there = context.load_at(place, Size::B8, false);
            let same = context.compare(CompareOp::Eq, there, wanted);
            let (same, other) = context.split(same);
            context.state = same;
            let stored = context.load(place.base, place.disp + E_KEY, Size::B8, false);
            let others = context.leave_if_same(key, stored, offset, iteration)?;
            context.state = other;
            let free = is_free(context, there, stamp);
            let (free, taken) = context.split(free);
            iteration.leave_in(free, vec![Abs::Int(offset)]);
            context.enter(others.into_iter().chain([taken]).collect())
        })?;
        Ok((entry, stamp))
    }

    /// Visits entries (which are given with their mask) from where a hash belongs on, until `look` leaves with an entry's
    /// offset, which this gives.
    pub(super) fn visit_from(
        &mut self,
        hash: Word,
        (entries, mask): (Word, Word),
        look: &mut dyn FnMut(&mut Self, Word, &mut Iteration) -> Result<()>,
    ) -> Result<Word> {
        let first = self.shl(hash, i64::from(ENTRY.trailing_zeros()));
        let first = self.and(first, mask);
        let arms = self.repeat(&[first], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let offset = context.add(entries, variables[0]);
            look(context, offset, &mut iteration)?;
            let next = context.add(variables[0], ENTRY);
            let next = context.and(next, mask);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join_word(arms)
    }

    /// Leaves with the offset where the stored key of that kind is `key`; the states in which it is another one.
    fn leave_if_same(
        &mut self,
        key: &KeyWords,
        stored: Word,
        offset: Word,
        iteration: &mut Iteration,
    ) -> Result<Vec<State>> {
        let long = self.compare(CompareOp::Eq, key.code, LONG);
        let (long, short) = self.split(long);
        self.state = short;
        let same = self.compare(CompareOp::Eq, stored, key.word);
        let (same, other) = self.split(same);
        iteration.leave_in(same, vec![Abs::Int(offset)]);
        let mut others = vec![other];
        self.state = long;
        if self.state.alive() {
            let (mine, theirs) =
                (long_slice(self, key.word, key.space), long_slice(self, stored, Space::Scratch));
            let (same, different) = self.split_equal_slices(mine, theirs)?;
            others.extend(different);
            self.enter(same)?;
            if self.state.alive() {
                iteration.leave(self, vec![Abs::Int(offset)]);
            }
        }
        Ok(others)
    }
}

/// Whether an entry's first word is of another table.
pub fn is_free(words: &mut impl Words, first: Word, stamp: Word) -> moonhook_ir::words::Cond {
    let difference = words.binary(BinaryOp::Xor, first, stamp);
    words.compare(CompareOp::UGt, difference, 0xff)
}
