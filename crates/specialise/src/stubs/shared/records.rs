//! Entries that are records, as general code holds them: tables that know which record they are, and of which key
//! (`runtime/lua/entries.lua`).

use super::super::{Stubs, without_context};
use super::Accesses;
use super::fields::Source;
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::stubs::memory::text_of_payload;
use crate::stubs::shared::value_words;
use crate::value::{Abs, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_runtime::layout::{ACCESS_KEEP, ACCESS_READ, ACCESS_WRITE, FAIL, T_KEY, TAG_STRING, TAG_TABLE};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

/// A record in the values of a shared table.
#[derive(Clone, Debug)]
pub struct Record {
    pub number: usize,
    /// The number of the one that is the whole value.
    pub outermost: usize,
    /// The fields that lead there.
    pub path: Vec<String>,
    /// Name, type, and for records what is in them.
    pub fields: Vec<(String, Type, Option<Record>)>,
}

impl Record {
    /// The record of that type, if it is one; it and those inside it are numbered from `next` on.
    pub fn new(ty: &Type, next: &mut usize) -> Option<Record> {
        let outermost = *next;
        Record::within(ty, &[], outermost, next)
    }

    fn within(ty: &Type, path: &[String], outermost: usize, next: &mut usize) -> Option<Record> {
        let Type::Record(fields) = ty else { return None };
        let number = *next;
        *next += 1;
        let inside = |field: &moonhook_schema::Field| {
            let path: Vec<String> = path.iter().chain([&field.name]).cloned().collect();
            (field.name.clone(), field.ty.clone(), Record::within(&field.ty, &path, outermost, next))
        };
        let fields = fields.iter().map(inside).collect();
        Some(Record { number, outermost, path: path.to_vec(), fields })
    }

    /// It and all records inside it, in the order of their numbers.
    pub fn all(&self) -> Vec<&Record> {
        let inside = self.fields.iter().filter_map(|(.., record)| record.as_ref());
        [self].into_iter().chain(inside.flat_map(Record::all)).collect()
    }

    /// What routines call the word that a field is.
    pub(super) fn word(&self, field: usize) -> Word {
        Word::Imm(((self.number as i64 + 1) << 8) + field as i64)
    }
}

impl Stubs<'_> {
    /// What reads and assigns the fields of one of a shared table's records.
    pub fn shared_record(&mut self, table: TableId, record: &Record) -> Result<Accesses> {
        let number = record.number;
        let read =
            self.make(&format!("shared_read_{number}"), without_context(3), |context, parameters| {
                let &[entry, name, out] = parameters else { return Ok(()) };
                let done = context.read_field(table, record, [entry, name, out])?;
                context.enter(done)?;
                context.give(0);
                Ok(())
            })?;
        let write =
            self.make(&format!("shared_write_{number}"), without_context(3), |context, parameters| {
                let &[entry, name, value] = parameters else { return Ok(()) };
                let done = context.write_field(table, record, [entry, name, value])?;
                context.enter(done)?;
                context.give(0);
                Ok(())
            })?;
        let mut accesses = vec![(ACCESS_READ, read), (ACCESS_WRITE, write)];
        if record.fields.iter().any(|(.., inside)| inside.is_some()) {
            accesses.push((ACCESS_KEEP, self.keeping_fields(table, record)?));
        }
        Ok(accesses)
    }
}

/// An entry that is there.
struct Found {
    key: Word,
    path: u32,
    base: Word,
}

impl Context<'_> {
    /// Stores the table for an entry's record, of which there is a copy unless that is 0; gives where that was done.
    pub(super) fn store_entry(
        &mut self,
        table: TableId,
        number: usize,
        [key, out, copy]: [Word; 3],
    ) -> Result<State> {
        let held = self.held_entry(number, key);
        self.store_held(table, (number, held), [key, out, copy])
    }

    /// The table that the handler has for the record with a number of the entry with the key at an address, or 0.
    pub(super) fn held_entry(&mut self, number: usize, key: Word) -> Word {
        self.call_routine("entry_find", &[Word::Imm(number as i64), key])
    }

    /// [`Context::store_entry`], where the table is known that the handler has, or that it has none.
    pub(super) fn store_held(
        &mut self,
        table: TableId,
        (number, held): (usize, Word),
        [key, out, copy]: [Word; 3],
    ) -> Result<State> {
        let number = Word::Imm(number as i64);
        let none = self.compare(CompareOp::Eq, held, 0);
        let (none, some) = self.split(none);
        self.state = none;
        let made = self.call_routine("table_new", &[Word::Imm(0), Word::Imm(0)]);
        let failed = self.compare(CompareOp::Eq, made, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        let failed = self.call_routine("entry_become", &[made, number, key]);
        let failed = self.compare(CompareOp::SLt, failed, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        let none = self.take_state();
        let entry = self.either(some, held, none, made)?;
        if copy != Word::Imm(0) {
            let known = self.copy_held(table, entry)?;
            let unknown = self.compare(CompareOp::Eq, known, 0);
            let (unknown, known) = self.split(unknown);
            self.state = unknown;
            self.call_routine("entry_keep", &[entry, copy]);
            let kept = self.take_state();
            self.enter(vec![kept, known])?;
        }
        Ok(self.store_table(out, entry))
    }

    /// Stores a table, and gives where that was done.
    pub(super) fn store_table(&mut self, out: Word, table: Word) -> State {
        arena::store(self, out, Word::Imm(TAG_TABLE));
        let payload = self.add(out, 8);
        arena::store(self, payload, table);
        self.take_state()
    }

    /// Whether the field with that name of the table that is being assigned is a first count: not 0.
    pub(in crate::stubs) fn is_first_field(&mut self, name: &str) -> Word {
        let name = Word::Imm(self.image_string(name.as_bytes()));
        self.call_routine("shared_first_field", &[name])
    }

    /// What the handler holds of the entry are tables of their own from now on (`last.rs`).
    pub(super) fn forget_entry(&mut self, table: TableId, record: &Record, key: Word) -> Result<()> {
        self.forget_copies(table)?;
        let last = record.number + record.all().len() - 1;
        let [first, last] = [record.number, last].map(|number| Word::Imm(number as i64));
        let failed = self.call_routine("entry_forget", &[first, last, key]);
        let failed = self.compare(CompareOp::SLt, failed, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        Ok(())
    }

    /// The record that a table stands for; an error where there is none any more.
    fn live_entry(&mut self, table: TableId, record: &Record, entry: Word) -> Result<Option<Found>> {
        let schema: std::rc::Rc<Schema> = self.schema_of(table)?;
        let key = self.add(entry, T_KEY);
        let (arms, mut gone) = self.find(table, &schema, key)?;
        let mut arms = there(arms, &mut gone);
        for name in &record.path {
            let Some(values) = self.join(std::mem::take(&mut arms))? else { break };
            let Some(Abs::Entry { path, base }) = values.first() else { break };
            let inside = self.read_entry(*path, *base, &Abs::text(name))?;
            arms = there(inside, &mut gone);
            if arms.is_empty() {
                break;
            }
        }
        let there = self.take_state();
        self.raise_gone(table, gone)?;
        self.state = there;
        let values = self.join(arms)?;
        Ok(match values.as_deref() {
            Some([Abs::Entry { path, base }]) => Some(Found { key, path: *path, base: *base }),
            _ => None,
        })
    }

    /// Splits the current state by which of a record's fields the value at `name` is the name of; the last one is where it is
    /// none.
    pub(super) fn split_field(&mut self, record: &Record, name: Word) -> Result<(Vec<State>, State)> {
        let tag = arena::load(self, name);
        let other = self.compare(CompareOp::Ne, tag, TAG_STRING);
        let mut none = Vec::new();
        self.leave_if(other, &mut none);
        let payload = self.add(name, 8);
        let payload = arena::load(self, payload);
        let Str::Slice { space, start, length } = text_of_payload(self, payload) else {
            return Ok((Vec::new(), self.take_state()));
        };
        let mut fields = Vec::new();
        for (name, ..) in &record.fields {
            // Mostly it is a constant of the script, the very text of the image.
            let constant = self.image_string(name.as_bytes());
            let same = self.compare(CompareOp::Eq, payload, constant);
            let (same, other) = self.split(same);
            self.state = other;
            let (equal, different) =
                self.split_equal_constant(Slice::plain(space, start, length), name.as_bytes())?;
            self.enter([vec![same], equal].concat())?;
            fields.push(self.take_state());
            self.enter(different)?;
        }
        none.push(self.take_state());
        self.enter(none)?;
        Ok((fields, self.take_state()))
    }

    fn read_field(
        &mut self,
        table: TableId,
        record: &Record,
        [entry, name, out]: [Word; 3],
    ) -> Result<Vec<State>> {
        let mut in_place = Vec::new();
        let mut done = self.read_copied_field(table, record, [entry, name, out], &mut in_place)?;
        self.enter(in_place)?;
        if self.state.alive() {
            done.extend(self.read_field_in_place(table, record, [entry, name, out])?);
        }
        Ok(done)
    }

    fn read_field_in_place(
        &mut self,
        table: TableId,
        record: &Record,
        [entry, name, out]: [Word; 3],
    ) -> Result<Vec<State>> {
        let Some(found) = self.live_entry(table, record, entry)? else { return Ok(Vec::new()) };
        let key = value_words(self, found.key);
        let (states, none) = self.split_field(record, name)?;
        let (mut done, mut nothing) = (Vec::new(), vec![none]);
        for (index, (state, (name, ty, inside))) in states.into_iter().zip(&record.fields).enumerate() {
            self.state = state;
            let mut read = Vec::new();
            for arm in self.read_entry(found.path, found.base, &Abs::text(name))? {
                self.state = arm.state;
                match (arm.values.first(), inside) {
                    (None | Some(Abs::Nil), _) if *ty != Type::Integer => nothing.push(self.take_state()),
                    (Some(Abs::Entry { .. }), Some(inside)) => {
                        let places = [found.key, out, Word::Imm(0)];
                        read.push(self.store_entry(table, inside.number, places)?);
                    }
                    (value, _) => {
                        self.store_value(out, value.unwrap_or(&Abs::Nil))?;
                        read.push(self.take_state());
                    }
                }
            }
            self.enter(read)?;
            if *ty == Type::Integer && self.state.alive() {
                self.call_routine("shared_note_read", &[record.word(index), key[0], key[1], out]);
            }
            done.push(self.take_state());
        }
        self.enter(nothing)?;
        self.store_value(out, &Abs::Nil)?;
        done.push(self.take_state());
        Ok(done)
    }

    fn write_field(
        &mut self,
        table: TableId,
        record: &Record,
        [entry, name, value]: [Word; 3],
    ) -> Result<Vec<State>> {
        let Some(found) = self.live_entry(table, record, entry)? else { return Ok(Vec::new()) };
        let (states, none) = self.split_field(record, name)?;
        self.state = none;
        let mut done = vec![self.leave_deletion(value)];
        let message = format!("an entry of table '{}' has no such field", self.snapshot.table_name(table));
        self.fail(Message::new(message));
        for (index, (state, field)) in states.into_iter().zip(&record.fields).enumerate() {
            self.state = state;
            self.read_in_place_from_now_on(table, record, index, entry)?;
            done.extend(self.write_one(table, &found, field, record.word(index), value)?);
        }
        Ok(done)
    }

    fn write_one(
        &mut self,
        table: TableId,
        found: &Found,
        (name, ty, inside): &(String, Type, Option<Record>),
        word: Word,
        place: Word,
    ) -> Result<Vec<State>> {
        let field = Abs::text(name);
        let adds = match ty {
            Type::Integer => Some(self.leave_addition(word, found.key, place)),
            _ => None,
        };
        let mut done = Vec::new();
        if let Some((adds, assigns)) = adds {
            self.state = adds;
            let added = self.result_word(0);
            let arms = self.read_entry(found.path, found.base, &field)?;
            let sums = self.sums_of(arms, added);
            if let Some([sum]) = self.join(sums)?.as_deref() {
                self.write_entry(found.path, found.base, &field, sum)?;
            }
            done.push(self.take_state());
            self.state = assigns;
        }
        let deleting = self.leave_deletion(place);
        let assigning = std::mem::replace(&mut self.state, deleting);
        if let Some(inside) = inside {
            self.forget_entry(table, inside, found.key)?;
        }
        self.write_entry(found.path, found.base, &field, &Abs::Nil)?;
        done.push(self.take_state());
        self.state = assigning;
        match inside {
            None => {
                let Some(value) = self.fitting(table, ty, place)? else { return Ok(done) };
                self.write_entry(found.path, found.base, &field, &value)?;
                done.push(self.take_state());
            }
            Some(inside) => {
                let source = Source { table, key: found.key, place };
                let bytes = self.room_for_record(ty)?;
                done.extend(self.put_table(inside, source, bytes)?);
                if self.state.alive() {
                    self.forget_entry(table, inside, found.key)?;
                    self.replace_record(found.path, found.base, name, bytes)?;
                    self.become_entries(inside, source)?;
                    done.push(self.take_state());
                }
            }
        }
        Ok(done)
    }
}

/// The arms with an entry; the states of the others go to `gone`.
fn there(arms: Vec<Arm>, gone: &mut Vec<State>) -> Vec<Arm> {
    let (there, missing): (Vec<Arm>, Vec<Arm>) =
        arms.into_iter().partition(|arm| matches!(arm.values.first(), Some(Abs::Entry { .. })));
    gone.extend(missing.into_iter().map(|arm| arm.state));
    there
}
