//! Entries whose values are records: tables with named fields.
//!
//! What is read of such a table is the entry itself ([`Abs::Entry`]): its fields are read and assigned in the map, as those of
//! the table that it is in Lua. What happens to those who hold it is in [`super::held`].

use super::Seen;
use super::additions::{At, Load};
use super::assigned::Assigned;
use super::keys::{Unfit, has_text};
use super::seen::{Misfit, Room};
use crate::context::{Context, Result};
use crate::fields::Key;
use crate::paths::Arm;
use crate::region::VALUE_START;
use crate::shared::known::SharedTables;
use crate::shared::map_calls::zero;
use crate::state::State;
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{AtomicOp, CompareOp, Op, Size};
use moonhook_schema::Type;
use moonhook_snapshot::TableId;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Context<'_> {
    /// Where the record is, and its type.
    pub(super) fn record_of(&mut self, path: u32, base: Word) -> Result<Option<(Address, Type)>> {
        let (table, names) = self.known.shared.paths[path as usize].clone();
        let Some((_, schema)) = self.shared_map(table)? else { return Ok(None) };
        let (mut offset, mut ty) = (schema.value_offset(), &schema.value);
        for name in &names {
            let Some((_, at, field)) = ty.field(name) else { return Ok(None) };
            (offset, ty) = (offset + at, field);
        }
        let (base, ty) = (self.value(base), ty.clone());
        Ok(Some((Address { base, disp: offset as i16 }, ty)))
    }

    /// The names of the fields that the record may have, in order.
    pub fn entry_names(&mut self, path: u32, base: Word) -> Result<Vec<Arc<[u8]>>> {
        Ok(match self.record_of(path, base)? {
            Some((_, Type::Record(fields))) => {
                fields.iter().map(|field| Arc::from(field.name.as_bytes())).collect()
            }
            _ => Vec::new(),
        })
    }

    /// Whether the records in the record are nested at most so deep, and none is a list.
    pub fn entry_can_be_sent(&mut self, path: u32, base: Word, depth: usize) -> Result<bool> {
        let record = self.record_of(path, base)?;
        Ok(record.is_none_or(|(_, ty)| ty.depth() <= depth && !ty.has_list()))
    }

    /// `entry[key]`, with one arm for each way of getting it.
    pub fn read_entry(&mut self, path: u32, base: Word, key: &Abs) -> Result<Vec<Arm>> {
        let (table, _) = self.known.shared.paths[path as usize];
        match (Key::of(key), key) {
            (Some(key), _) => match key.field_name() {
                Some(name) => self.read_named(path, base, name),
                None => self.only(Abs::Nil),
            },
            (None, Abs::Int(index)) => self.read_place(path, base, *index),
            (None, Abs::Union(_)) => {
                self.arms_of_each(key, &mut |context, key| context.read_entry(path, base, key))
            }
            _ => self.refuse_shared(table, "a key that is no constant, in an entry of", KEYS),
        }
    }

    pub(super) fn read_named(&mut self, path: u32, base: Word, name: String) -> Result<Vec<Arm>> {
        let (table, _) = self.known.shared.paths[path as usize];
        let Some((at, ty)) = self.record_of(path, base)? else { return self.only(Abs::Nil) };
        let Some((number, offset, ty)) = ty.field(&name) else { return self.only(Abs::Nil) };
        let place = at.plus(offset as i16);
        let fields = match self.state.facts.is_whole_copied(&self.known.shared.additions, place, ty) {
            true => self.word_of_entry(at),
            false => self.load(at.base, at.disp, Size::B8, false),
        };
        let fields = self.value(fields);
        // A value of its own for each field, though one word says it of all.
        let marker = self.value(Word::Imm(0));
        let (there, missing) = self.split_bit(fields, number);
        self.state = missing;
        self.state.facts.absent.push(marker);
        let mut arms = vec![Arm { state: self.take_state(), values: vec![Abs::Nil] }];
        self.state = there;
        if matches!(ty, Type::Record(_)) {
            let mut names = self.known.shared.paths[path as usize].1.clone();
            names.push(name);
            let entry = self.known.shared.entry(table, names, at.base);
            arms.extend(self.only(entry)?);
            return Ok(arms);
        }
        let found = self.value_arms(place, ty)?;
        self.known
            .shared
            .additions
            .note_loaded(Load { table, key: None, at: At::Place(place), marker, since: marker.0 }, &found);
        let path = self.known.shared.paths[path as usize].1.iter().cloned().chain([name]).collect();
        self.note_read_of_entry(table, path, ty, &found);
        arms.extend(found);
        Ok(arms)
    }

    /// Where bit `number` of a word is set, and where it is not.
    fn split_bit(&mut self, word: ir::Value, number: usize) -> (State, State) {
        let bit = self.shr(word, number as i64);
        let bit = self.and(bit, 1);
        let set = self.compare(CompareOp::Ne, bit, 0);
        self.split(set)
    }

    /// `entry[key] = value`.
    pub fn write_entry(&mut self, path: u32, base: Word, key: &Abs, value: &Abs) -> Result<()> {
        let (table, _) = self.known.shared.paths[path as usize];
        match (Key::of(key), key) {
            (Some(key), _) => match key.field_name() {
                Some(name) => self.write_named(path, base, name, value),
                None => self.refuse_shared(table, &format!("the key {} in an entry of", word(&key)), KEYS),
            },
            (None, Abs::Int(index)) => self.write_place(path, base, *index, value),
            (None, Abs::Union(_)) => {
                self.each(key, &mut |context, key| context.write_entry(path, base, &key, value))
            }
            _ => self.refuse_shared(table, "a key that is no constant name, in an entry of", KEYS),
        }
    }

    pub(super) fn write_named(&mut self, path: u32, base: Word, name: String, value: &Abs) -> Result<()> {
        let assigned = self.assign_named(path, base, name, value)?;
        self.forget_field(path, assigned);
        Ok(())
    }

    /// What was read of a field is not what a later addition adds to.
    pub(super) fn forget_field(&mut self, path: u32, field: Option<(i16, usize)>) {
        let (table, _) = self.known.shared.paths[path as usize];
        if let Some((disp, size)) = field {
            self.forget_words(table, Assigned::Field(disp, size));
        }
    }

    /// `entry.name = value`, but for [`Context::forget_field`]; gives where the field is, and its size.
    pub(super) fn assign_named(
        &mut self,
        path: u32,
        base: Word,
        name: String,
        value: &Abs,
    ) -> Result<Option<(i16, usize)>> {
        let (table, names) = self.known.shared.paths[path as usize].clone();
        let mut seen = Seen::record(BTreeMap::from([(name.clone(), self.seen(table, value)?)]));
        for name in names.iter().rev() {
            seen = Seen::record(BTreeMap::from([(name.clone(), seen)]));
        }
        self.check_declared(table, &seen)?;
        self.note(table, &Seen::default(), &seen)?;
        let Some((at, ty)) = self.record_of(path, base)? else { return Ok(None) };
        let Some((number, offset, ty)) = ty.field(&name) else {
            return match value {
                Abs::Nil => Ok(None),
                _ => self.refuse_field(table, &name),
            };
        };
        let place = at.plus(offset as i16);
        self.prolong(table, at.base)?;
        let mut done = Vec::new();
        self.add_to_field(table, (at, number), place, value, &mut done)?;
        if self.state.alive() {
            self.put_field(table, (at, number), (place, ty), value)?;
            done.push(self.take_state());
        }
        self.enter(done)?;
        self.state.facts.forget_copied(table, place.disp, ty.size());
        if self.holds_made(value)?
            && let Abs::Object(Object::Made(made)) = *value
        {
            let mut names = names;
            names.push(name);
            self.state.bind(&mut self.known.shared, table, made, names, at.base);
        }
        Ok(Some((place.disp, ty.size())))
    }

    /// Replaces a field, which is the one with a number in a record.
    fn put_field(
        &mut self,
        table: TableId,
        (at, number): (Address, usize),
        (place, ty): (Address, &Type),
        value: &Abs,
    ) -> Result<()> {
        let mut unfit = Unfit::default();
        self.dispatch(value, &mut |context, value| {
            match value {
                Abs::Nil => zero(context, place, ty.size()),
                ref value => context.put_in_map(place, ty, value, &mut unfit)?,
            }
            if context.state.alive() {
                context.set_there(at, number, value != Abs::Nil)?;
            }
            Ok(vec![])
        })?;
        self.fail_unfit(table, "value", unfit)
    }

    /// Writes a value at a place of an entry. Strings, whose length is not known, are made elsewhere and copied whole.
    fn put_in_map(&mut self, at: Address, ty: &Type, value: &Abs, unfit: &mut Unfit) -> Result<()> {
        if !has_text(ty) {
            return self.put(at, ty, value, unfit);
        }
        let base = self.room(ty.size(), true, VALUE_START)?;
        self.put(Address { base, disp: 0 }, ty, value, unfit)?;
        if self.state.alive() {
            for disp in (0..ty.size() as i16).step_by(8) {
                let word = self.load(base, disp, Size::B8, false);
                self.store(at.base, at.disp + disp, Size::B8, word);
            }
        }
        Ok(())
    }

    /// Notes in a record's first word whether a field is there.
    pub(super) fn set_there(&mut self, at: Address, number: usize, is_there: bool) -> Result<()> {
        let there = self.load(at.base, at.disp, Size::B8, false);
        let there = self.value(there);
        let (set, clear) = self.split_bit(there, number);
        let (change, same) = if is_there { (clear, set) } else { (set, clear) };
        self.state = change;
        // Another CPU may do so with another field.
        let bit = 1i64 << number;
        let (op, bits) = if is_there { (AtomicOp::Or, bit) } else { (AtomicOp::And, !bit) };
        let value = self.value(Word::Imm(bits));
        self.emit(Op::Atomic { op, size: Size::B8, base: at.base, disp: at.disp, value });
        let changed = self.take_state();
        self.enter(vec![changed, same])
    }

    /// Refuses `pairs` and `next` of a record.
    pub fn refuse_traversed_entry<T>(&self, path: u32) -> Result<T> {
        let (table, _) = self.known.shared.paths[path as usize];
        self.refuse_shared(table, "traversing the fields of an entry of", NAMES)
    }

    fn refuse_field<T>(&mut self, table: TableId, name: &str) -> Result<T> {
        let what = format!("a field `{name}`, which is not declared, in an entry of");
        self.refuse_shared(table, &what, "add the field to the declaration")
    }

    /// What a table made at packet time adds to the types of a shared one.
    pub(super) fn seen_of_made(&mut self, table: TableId, made: u32, room: &mut Room) -> Result<Seen> {
        let help = PLACES;
        let Some(known) = self.state.tables.get(&made).cloned() else { return Ok(Seen::default()) };
        if known.metatable.is_some() {
            return self.refuse_shared(table, "keeping a table with a metatable in", help);
        }
        if let Err(misfit) = room.enter() {
            return self.refuse_misfit(table, misfit);
        }
        let mut fields = BTreeMap::new();
        for key in known.fields.keys() {
            let value = self.state.made_field(made, key);
            if let Err(misfit) = room.take_field() {
                return self.refuse_misfit(table, misfit);
            }
            match key.field_name() {
                Some(name) => {
                    let seen = self.seen_within(table, &value, room)?;
                    fields.insert(name, seen);
                }
                None if value == Abs::Nil => {}
                None => {
                    let what = format!("keeping a table with the key {} in", word(key));
                    return self.refuse_shared(table, &what, help);
                }
            }
        }
        room.leave();
        Ok(Seen::record(fields))
    }

    fn refuse_misfit<T>(&self, table: TableId, misfit: Misfit) -> Result<T> {
        self.refuse_shared(table, &format!("keeping a {} in", misfit.what()), PLACES)
    }

    /// Refuses fields that the declaration has not.
    pub(super) fn check_declared(&mut self, table: TableId, value: &Seen) -> Result<()> {
        let declared =
            self.snapshot.table(table).declaration.as_ref().and_then(|declared| declared.value.as_ref());
        match declared.and_then(|declared| value.unknown_field(declared)) {
            Some(name) => self.refuse_field(table, &name),
            None => Ok(()),
        }
    }

    /// An assignment gives the entry another lifetime.
    pub fn prolong(&mut self, table: TableId, entry: ir::Value) -> Result<()> {
        if let Some((_, schema)) = self.shared_map(table)?
            && let Some(lifetime) = schema.lifetime
        {
            let deadline = self.deadline(lifetime);
            self.store(entry, 0, Size::B8, deadline);
        }
        Ok(())
    }
}

impl SharedTables {
    /// The record at a path, of the entry at an address.
    pub fn entry(&mut self, table: TableId, path: Vec<String>, base: ir::Value) -> Abs {
        let path = (table, path);
        let known = self.paths.iter().position(|known| *known == path);
        let number = known.unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        });
        Abs::Entry { path: number as u32, base: Word::Value(base) }
    }
}

const NAMES: &str = "write the field's name after a dot";
const KEYS: &str = "write the field's name after a dot, or a number from 1 to 64, its place in a list";
const PLACES: &str = "copy what is needed into a table with named fields, or a list of up to 64 places";

/// A key as scripts write it.
fn word(key: &Key) -> String {
    match key {
        Key::Boolean(value) => value.to_string(),
        Key::Integer(value) => value.to_string(),
        Key::Text(name) => format!("\"{}\"", name.escape_ascii()),
    }
}
