//! Copies of entries that are records, as general code reads them ([`crate::shared::CopyLayout`]): made when the handler looks an
//! entry up, or reads of one that it has just assigned; held by the tables that stand for the entry's records.

use super::super::{Stubs, without_context};
use super::Record;
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::shared::CopyLayout;
use crate::state::State;
use crate::strings::Slice;
use crate::stubs::shared::value_words;
use crate::subprograms::of_program;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, FunctionId, Size};
use moonhook_runtime::layout::{FAIL, L_COPIES, T_COPY, T_KEY};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

impl Stubs<'_> {
    /// `(L, key) -> copy`: copies the entry with the key at an address; 0 if there is none, or [`FAIL`].
    pub(super) fn copying(&mut self, table: TableId, record: &Record) -> Result<FunctionId> {
        self.make(&copying_name(record), without_context(1), |context, parameters| {
            let &[key] = parameters else { return Ok(()) };
            let (map, schema) = context.map_of(table)?;
            let given = context.given_key(key, &schema.key)?;
            let mut nothing = given.others;
            nothing.push(given.nil);
            nothing.extend(given.too_long);
            if let Some([key]) = context.join(given.fits)?.as_deref() {
                let arms = context.copy_of_key(table, (map, &schema), key)?;
                let copy = context.join_word(arms)?;
                context.give(copy);
            }
            context.enter(nothing)?;
            context.give(0);
            Ok(())
        })
    }
}

/// By the number of the record that is the whole value.
fn copying_name(record: &Record) -> String {
    format!("shared_copy_{}", record.outermost)
}

impl Context<'_> {
    /// Stores the table for the entry with the key at an address, with a copy of the entry, unless the handler has one; gives where
    /// that was done, and goes on where it has, with that table. `nothing` gets the states where there is no such entry.
    pub(super) fn copy_entry(
        &mut self,
        table: TableId,
        record: &Record,
        [key, out]: [Word; 2],
        nothing: &mut Vec<State>,
    ) -> Result<(Vec<State>, Word)> {
        let held = self.held_entry(record.number, key);
        let mut copied = Vec::new();
        let none = self.compare(CompareOp::Eq, held, 0);
        let (none, some) = self.split(none);
        self.state = some;
        let copy = self.copy_held(table, held)?;
        let is_copied = self.compare(CompareOp::Ne, copy, 0);
        self.leave_if(is_copied, &mut copied);
        let not_copied = self.take_state();
        self.enter(vec![none, not_copied])?;
        let copy = self.new_copy(record, key, nothing);
        let done = self.store_held(table, (record.number, held), [key, out, copy])?;
        self.enter(copied)?;
        Ok((vec![done], held))
    }

    /// Copies the entry with the key at an address; `nothing` gets the states where there is none.
    pub(super) fn new_copy(&mut self, record: &Record, key: Word, nothing: &mut Vec<State>) -> Word {
        let copying = of_program(&copying_name(record), self.target.program);
        let Some(copying) = self.known_subprogram(&copying) else { return Word::Imm(0) };
        let copy = self.call_function(copying, &[self.state_address(), key]);
        let failed = self.compare(CompareOp::SLt, copy, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        let none = self.compare(CompareOp::Eq, copy, 0);
        self.leave_if(none, nothing);
        copy
    }

    /// The copy that the table for an entry's record has, or 0.
    pub(super) fn copy_held(&mut self, table: TableId, entry: Word) -> Result<Word> {
        let place = self.add(entry, T_COPY);
        let copy = arena::load(self, place);
        let layout = CopyLayout::new(self.snapshot, &*self.schema_of(table)?);
        if !layout.is_stamped() {
            return Ok(copy);
        }
        let none = self.compare(CompareOp::Eq, copy, 0);
        let (none, some) = self.split(none);
        self.state = some;
        let places = [self.add(copy, layout.stamp()), self.add(self.state_address(), L_COPIES)];
        let [then, now] = places.map(|place| arena::load(self, place));
        let old = self.compare(CompareOp::Ne, then, now);
        let (old, good) = self.split(old);
        self.enter(vec![none, old])?;
        let none = self.take_state();
        self.either(none, Word::Imm(0), good, copy)
    }

    /// An entry of a table of prefixes is assigned: other keys that were looked up may lead to it.
    pub(super) fn forget_copies(&mut self, table: TableId) -> Result<()> {
        if self.schema_of(table)?.is_prefixes() {
            self.outdate_copies();
        }
        Ok(())
    }

    /// A field of a record that the handler holds is assigned.
    pub(super) fn read_in_place_from_now_on(
        &mut self,
        table: TableId,
        record: &Record,
        field: usize,
        entry: Word,
    ) -> Result<()> {
        self.forget_copies(table)?;
        let copy = self.copy_held(table, entry)?;
        let none = self.compare(CompareOp::Eq, copy, 0);
        let (none, some) = self.split(none);
        self.state = some;
        let place = self.assigned_fields(table, record, copy)?;
        let assigned = arena::load(self, place);
        let assigned = self.binary(BinaryOp::Or, assigned, 1i64 << field);
        arena::store(self, place, assigned);
        let noted = self.take_state();
        self.enter(vec![none, noted])
    }

    /// Where the word is that says which of a record's fields the handler has assigned since the copy was made.
    pub(super) fn assigned_fields(&mut self, table: TableId, record: &Record, copy: Word) -> Result<Word> {
        let layout = CopyLayout::new(self.snapshot, &*self.schema_of(table)?);
        Ok(self.add(copy, layout.assigned(record.number - record.outermost)))
    }

    /// Reads a field of the copy that is held, which is made if there is none; gives where that was done. `in_place` gets the states
    /// where the field is one that the handler has assigned.
    pub(super) fn read_copied_field(
        &mut self,
        table: TableId,
        record: &Record,
        [entry, name, out]: [Word; 3],
        in_place: &mut Vec<State>,
    ) -> Result<Vec<State>> {
        let key = self.add(entry, T_KEY);
        let schema = self.schema_of(table)?;
        let copy = self.copy_for(table, record, entry, key)?;
        let Some(at) = self.record_in_copy(table, record, &schema, copy)? else { return Ok(Vec::new()) };
        let key_words = value_words(self, key);
        let (states, none) = self.split_field(record, name)?;
        let (mut done, mut nothing) = (Vec::new(), vec![none]);
        for (index, (state, (name, ty, inside))) in states.into_iter().zip(&record.fields).enumerate() {
            self.state = state;
            let assigned = self.assigned_fields(table, record, copy)?;
            let assigned = arena::load(self, assigned);
            let (assigned, other) = self.split_flag(assigned, index);
            in_place.push(assigned);
            self.state = other;
            let there = arena::load(self, at);
            let (there, missing) = self.split_flag(there, index);
            self.state = there;
            let mut read = match inside {
                Some(inside) => vec![self.store_entry(table, inside.number, [key, out, copy])?],
                None => {
                    let offset = self.field_offset(record, &schema, name)?;
                    let place = self.add(at, offset);
                    self.store_copied_value(place, ty, out)?
                }
            };
            if *ty != Type::Integer {
                nothing.push(missing);
                done.extend(read);
                continue;
            }
            self.state = missing;
            self.store_value(out, &Abs::Nil)?;
            read.push(self.take_state());
            self.enter(read)?;
            self.call_routine("shared_note_read", &[record.word(index), key_words[0], key_words[1], out]);
            done.push(self.take_state());
        }
        self.enter(nothing)?;
        self.store_value(out, &Abs::Nil)?;
        done.push(self.take_state());
        Ok(done)
    }

    /// The copy that is held, or a new one; an error where the entry is gone.
    fn copy_for(&mut self, table: TableId, record: &Record, entry: Word, key: Word) -> Result<Word> {
        let held = self.copy_held(table, entry)?;
        let none = self.compare(CompareOp::Eq, held, 0);
        let (none, some) = self.split(none);
        self.state = none;
        let mut gone = Vec::new();
        let copy = self.new_copy(record, key, &mut gone);
        self.call_routine("entry_keep", &[entry, copy]);
        let copied = self.take_state();
        self.raise_gone(table, gone)?;
        self.either(some, held, copied, copy)
    }

    /// Where a record is in a copy; an error where it is not there.
    fn record_in_copy(
        &mut self,
        table: TableId,
        record: &Record,
        schema: &Schema,
        copy: Word,
    ) -> Result<Option<Word>> {
        let mut gone = Vec::new();
        let at = self.find_in_copy(record, schema, copy, &mut gone);
        let there = self.take_state();
        self.raise_gone(table, gone)?;
        self.state = there;
        Ok(at)
    }

    /// Where a record is in a copy; `gone` gets the states where it is not there.
    pub(super) fn find_in_copy(
        &mut self,
        record: &Record,
        schema: &Schema,
        copy: Word,
        gone: &mut Vec<State>,
    ) -> Option<Word> {
        let (mut at, mut ty) = (0, &schema.value);
        for name in &record.path {
            let (number, offset, inside) = ty.field(name)?;
            let place = self.add(copy, at);
            let there = arena::load(self, place);
            let (there, missing) = self.split_flag(there, number);
            gone.push(missing);
            self.state = there;
            (at, ty) = (at + offset as i64, inside);
        }
        Some(self.add(copy, at))
    }

    pub(super) fn raise_gone(&mut self, table: TableId, gone: Vec<State>) -> Result<()> {
        self.enter(gone)?;
        if self.state.alive() {
            self.fail(Message::new(format!(
                "an entry of table '{}' is gone",
                self.snapshot.table_name(table)
            )));
        }
        Ok(())
    }

    /// Where bit `number` of a word is set, and where it is not.
    pub(super) fn split_flag(&mut self, word: Word, number: usize) -> (State, State) {
        let bit = self.and(word, 1i64 << number);
        let set = self.compare(CompareOp::Ne, bit, 0);
        self.split(set)
    }

    /// Stores the value of a field, which is no record, of a copy; gives where that was done.
    pub(super) fn store_copied_value(&mut self, place: Word, ty: &Type, out: Word) -> Result<Vec<State>> {
        if let Type::Text { .. } = ty {
            let length = arena::address(self, place);
            let length = self.load_at(length, Size::B4, false);
            let start = self.add(place, 4);
            let text = Slice::plain(Space::Scratch, start, length);
            self.store_value(out, &Abs::Str(Str::Slice { space: text.space, start, length }))?;
            return Ok(vec![self.take_state()]);
        }
        let mut stored = Vec::new();
        for arm in self.value_arms_of_copy(place, ty)? {
            self.state = arm.state;
            self.store_value(out, arm.values.first().unwrap_or(&Abs::Nil))?;
            stored.push(self.take_state());
        }
        Ok(stored)
    }

    /// Where in the record's bytes the field with that name is.
    pub(super) fn field_offset(&self, record: &Record, schema: &Schema, name: &str) -> Result<i64> {
        let missing = || self.internal_fault(format!("a record without its field `{name}`"));
        record.offset_of(schema, name).map_or_else(missing, Ok)
    }
}

impl Record {
    /// Where in the record's bytes the field with that name is.
    fn offset_of(&self, schema: &Schema, name: &str) -> Option<i64> {
        let inside = |ty: Option<_>, name: &String| ty.and_then(|ty: &Type| Some(ty.field(name)?.2));
        let ty = self.path.iter().fold(Some(&schema.value), inside);
        ty.and_then(|ty| ty.field(name)).map(|(_, offset, _)| offset as i64)
    }
}
