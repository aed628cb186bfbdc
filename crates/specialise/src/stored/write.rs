//! Assigning to stored tables, and making room for more entries.

use super::keys::LONG;
use super::known::{Found, KeyType, KeyWords};
use super::{E_HASH, E_KEY, E_NEXT, E_PAYLOAD, E_TAG, ENTRY, H_ENTRIES, H_LAST, H_MASK, H_USED};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::loops::Iteration;
use crate::stored::keys::long_slice;
use crate::stored::probe::is_free;
use crate::stored::table_field;
use crate::strings::Slice;
use crate::value::{Abs, Str, Variant, Word};
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// A value in words.
struct Value {
    variants: Vec<Variant>,
    tag: Word,
    payload: [Word; 2],
}

impl Context<'_> {
    /// `table[key] = value`.
    pub fn write_stored(&mut self, table: u32, key: &Abs, value: &Abs) -> Result<()> {
        if let Abs::Union(_) = key {
            return self.for_each(key, &mut |context, key| context.write_stored(table, &key, value));
        }
        let Some(kind) = KeyType::of(key) else {
            if *key == Abs::Nil {
                self.fail(Message::new("table index is nil"));
                return Ok(());
            }
            return self.refuse_stored("[");
        };
        let value = match value {
            Abs::Union(union) if self.known.objects.is_storable_union(union) => {
                Value { variants: union.variants.clone(), tag: union.tag, payload: union.payload }
            }
            Abs::Union(_) => {
                return self.for_each(value, &mut |context, value| context.write_stored(table, key, &value));
            }
            value => {
                let Some(value) = self.storable_value(value)? else { return self.refuse_stored("[") };
                let form = self.form_of(&[&value, &Abs::Nil], true)?;
                let variants = match form {
                    crate::paths::Form::Union(variants) => variants
                        .into_iter()
                        .filter(|variant| *variant != Variant::Nil || value == Abs::Nil)
                        .collect(),
                    _ => vec![Variant::Nil],
                };
                let (tag, payload) = self.encode_variants(&value, &variants);
                Value { variants, tag, payload }
            }
        };
        self.note_stored(table, Some(kind), &value.variants)?;
        self.assign_entry(table, key, &value)
    }

    fn for_each(&mut self, value: &Abs, body: &mut dyn FnMut(&mut Self, Abs) -> Result<()>) -> Result<()> {
        self.dispatch(value, &mut |context, value| {
            body(context, value)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    fn assign_entry(&mut self, table: u32, key: &Abs, value: &Value) -> Result<()> {
        let found = self.find_entry(table, key)?;
        let place = self.entry_at(found.entry)?;
        let first = self.load_at(place, Size::B8, false);
        let free = is_free(self, first, found.stamp);
        let (free, taken) = self.split(free);
        self.state = taken;
        if self.state.alive() {
            put_value(self, place, value);
        }
        let taken = self.take_state();
        self.state = free;
        if self.state.alive() && value.variants != [Variant::Nil] {
            self.insert_entry(table, &found, place, value)?;
        }
        let inserted = self.take_state();
        self.enter(vec![taken, inserted])
    }

    /// Fills a free entry.
    fn insert_entry(&mut self, table: u32, found: &Found, place: Address, value: &Value) -> Result<()> {
        let word = self.kept_word(&found.words)?;
        let first = self.binary(BinaryOp::Or, found.stamp, found.words.code);
        self.store(place.base, place.disp, Size::B8, first);
        self.store(place.base, place.disp + E_KEY, Size::B8, word);
        self.store(place.base, place.disp + E_HASH, Size::B8, found.words.hash);
        put_value(self, place, value);
        self.link_entry(table, found.entry, place)?;
        // The free entry may have been where another key belongs.
        self.state.facts.found.retain(|other| other.table != table);
        let header = self.table_header(table)?;
        let used = table_field(self, header, H_USED);
        let used = self.add(used, 1);
        self.store(header.base, header.disp + H_USED, Size::B8, used);
        let mask = table_field(self, header, H_MASK);
        let bytes = self.shl(used, ENTRY.trailing_zeros() as i64 + 2);
        let most = self.binary(BinaryOp::Mul, mask, 3);
        let full = self.compare_apart(CompareOp::UGt, bytes, most);
        let (full, room) = self.split(full);
        self.state = full;
        if let Some(block) = self.state.block {
            self.code.function.block_mut(block).cold = true;
            self.grow(table, mask)?;
        }
        let grown = self.take_state();
        self.enter(vec![room, grown])
    }

    /// Makes a new entry the last one.
    fn link_entry(&mut self, table: u32, entry: Word, place: Address) -> Result<()> {
        let header = self.table_header(table)?;
        let last = table_field(self, header, H_LAST);
        let last = self.entry_at(last)?;
        self.store(place.base, place.disp + E_NEXT, Size::B8, 0);
        self.store(last.base, last.disp + E_NEXT, Size::B8, entry);
        self.store(header.base, header.disp + H_LAST, Size::B8, entry);
        Ok(())
    }

    /// The key's word as entries have it: a longer string is copied, since the packet may be written.
    fn kept_word(&mut self, key: &KeyWords) -> Result<Word> {
        let long = self.compare(CompareOp::Eq, key.code, LONG);
        let (long, short) = self.split(long);
        self.state = long;
        let mut word = key.word;
        if self.state.alive() {
            let Slice { space, start, length, .. } = long_slice(self, key.word, key.space);
            let copy = self.copied(Str::Slice { space, start, length })?;
            let copy = self.slice_of(&copy)?;
            let high = self.shl(copy.length, 32);
            word = self.binary(BinaryOp::Or, high, copy.start);
        }
        let long = self.take_state();
        self.either(long, word, short, key.word)
    }

    /// Moves all entries to a place with room for twice as many.
    fn grow(&mut self, table: u32, mask: Word) -> Result<()> {
        let size = self.add(mask, ENTRY);
        let size = self.shl(size, 1);
        let start = self.unknown(self.state.heap);
        let end = self.add(start, size);
        let full = self.compare(CompareOp::UGt, end, self.options.tables_end() - ENTRY);
        self.fail_if(full, |context| context.fail(Message::bare("not enough memory")));
        self.state.heap = end;
        let clear = self.repeat(&[start], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let done = context.compare(CompareOp::UGe, variables[0], end);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let place = context.entry_at(variables[0])?;
            context.store(place.base, place.disp, Size::B8, 0);
            let next = context.add(variables[0], ENTRY);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join(clear)?;
        let new_mask = self.sub(size, ENTRY);
        self.move_entries(table, (start, new_mask))?;
        let header = self.table_header(table)?;
        self.store(header.base, header.disp + H_ENTRIES, Size::B8, start);
        self.store(header.base, header.disp + H_MASK, Size::B8, new_mask);
        Ok(())
    }

    /// Copies the entries, in the order in which they came, to a place that is given with its mask.
    fn move_entries(&mut self, table: u32, new: (Word, Word)) -> Result<()> {
        let header = self.table_header(table)?;
        let first = table_field(self, header, E_NEXT);
        let number = self.known.stored.holds(table).map_or(0, |holds| holds.number);
        self.store(header.base, header.disp + H_LAST, Size::B8, self.options.header_offset(number));
        let moved = self.repeat(&[first], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let done = context.compare(CompareOp::Eq, at, 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let from = context.entry_at(at)?;
            let hash = context.load(from.base, from.disp + E_HASH, Size::B8, false);
            let entry = context.free_entry(hash, new)?;
            let (from, to) = (context.entry_at(at)?, context.entry_at(entry)?);
            for field in (0..E_NEXT).step_by(8) {
                let word = context.load(from.base, from.disp + field, Size::B8, false);
                context.store(to.base, to.disp + field, Size::B8, word);
            }
            let next = context.load(from.base, from.disp + E_NEXT, Size::B8, false);
            context.link_entry(table, entry, to)?;
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join(moved)?;
        Ok(())
    }

    /// The first entry that is 0, from where a hash belongs on.
    fn free_entry(&mut self, hash: Word, entries: (Word, Word)) -> Result<Word> {
        self.visit_from(hash, entries, &mut |context, offset, iteration| {
            let place = context.entry_at(offset)?;
            let there = context.load_at(place, Size::B8, false);
            let free = context.compare(CompareOp::Eq, there, 0);
            let (free, taken) = context.split(free);
            iteration.leave_in(free, vec![Abs::Int(offset)]);
            context.state = taken;
            Ok(())
        })
    }
}

fn put_value(words: &mut impl Words, place: Address, value: &Value) {
    words.store(place.base, place.disp + E_TAG, Size::B8, value.tag);
    let count = value.variants.iter().map(|variant| variant.words()).max().unwrap_or(0);
    for (number, word) in value.payload.iter().enumerate().take(count) {
        words.store(place.base, place.disp + E_PAYLOAD + 8 * number as i16, Size::B8, *word);
    }
}
