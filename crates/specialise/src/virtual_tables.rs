//! Tables that packet code makes and uses with known keys. They take no memory: each field is a cell of the state, like a
//! captured variable, and the table itself is only a name for its cells.
//!
//! A key that depends on the packet has no cell. Where a loop makes it so, the loop is executed turn by turn
//! ([`crate::unroll`]); what is left has a form in general code only.

use crate::context::{Context, Result, Stop};
use crate::error::LowerErrorKind;
use crate::fields::{Key, Made};
use crate::ops::comparison;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Object, Str, Word};
use moonhook_ir::words::Branches;
use moonhook_snapshot::Snapshot;
use std::sync::Arc;

/// Fields that a key of packet time is compared with, one by one.
const MAX_COMPARED: usize = 8;

/// In numbers of cells: what stands in the place of a register for a table.
const TABLE: usize = usize::MAX;

/// What stands there for tables that are made of a shared table's keys, by number from the last on.
const GIVEN: usize = usize::MAX - 16;

impl Context<'_> {
    /// A new table without fields.
    pub fn make_table(&mut self) -> Result<Abs> {
        let site = self.execution.cell_site(TABLE);
        let table = self.new_table(TABLE);
        let stored = self.make_stored(table, &site)?;
        self.numbering.note_table(table, site);
        Ok(stored.unwrap_or(Abs::Object(Object::Made(table))))
    }

    /// A new table without fields, the one with that number of those that the current instruction gives as keys or entries.
    pub fn make_numbered_table(&mut self, number: usize) -> u32 {
        self.new_table(GIVEN - number)
    }

    fn new_table(&mut self, place: usize) -> u32 {
        let table = self.cell_number(place);
        // What an earlier turn of a loop made here is out of reach: see `refuse_escapes`.
        for cell in self.numbering.cells_of_table(table) {
            self.state.cells.remove(&cell);
        }
        self.state.tables.insert(table, Made::default());
        table
    }

    pub fn set_made_field(&mut self, table: u32, key: Key, value: Abs) {
        let cell = self.numbering.field_cell(table, &key);
        if let Some(made) = self.state.tables.get_mut(&table) {
            made.fields.insert(key, cell);
            self.state.cells.insert(cell, value);
        }
    }

    /// `rawget` with any key.
    pub fn made_lookup(&mut self, table: u32, key: &Abs) -> Result<Vec<Arm>> {
        if let Some(key) = Key::of(key) {
            let value = self.state.made_field(table, &key);
            return self.only(value);
        }
        match key {
            Abs::Union(_) => self.arms_of_each(key, &mut |context, key| context.made_lookup(table, key)),
            Abs::Nil | Abs::Float(Word::Imm(_)) => self.only(Abs::Nil),
            Abs::Float(x) => self.read_float_key(*x, &mut |context, key| context.made_lookup(table, key)),
            Abs::Object(_) => self.needs_memory("["),
            _ => self.made_search(table, key),
        }
    }

    /// Compares a key of packet time with those of its type.
    fn made_search(&mut self, table: u32, key: &Abs) -> Result<Vec<Arm>> {
        let of_type = |candidate: &Key| key.type_name() == candidate.value().type_name();
        let made = self.state.tables.get(&table).cloned().unwrap_or_default();
        let candidates: Vec<Key> = made.fields.keys().filter(|key| of_type(key)).cloned().collect();
        if candidates.len() > MAX_COMPARED {
            return self.needs_entries(table, Some(key), "[");
        }
        let mut arms = Vec::new();
        for candidate in candidates {
            let same = comparison::equal(self, key, &candidate.value())?;
            let (same, others) = self.split_truth(&same);
            for state in same {
                self.state = state;
                let value = self.state.made_field(table, &candidate);
                arms.push(Arm { state: self.take_state(), values: vec![value] });
            }
            self.enter(others)?;
        }
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Nil] });
        Ok(arms)
    }

    /// `#table` where nothing about it depends on the packet: all elements are known to be there, or known not to be, and
    /// none comes after the border.
    pub fn made_length(&mut self, table: u32) -> Result<i64> {
        let made = self.state.tables.get(&table).cloned().unwrap_or_default();
        let mut border = 0;
        let mut after = false;
        for (key, cell) in made.fields.iter() {
            let Key::Integer(index) = key else { continue };
            match self.state.cells.get(cell) {
                None | Some(Abs::Nil) => {}
                Some(Abs::Union(union)) if union.variants.contains(&crate::value::Variant::Nil) => {
                    return self.needs_entries(table, None, "#");
                }
                Some(_) if *index == border + 1 => border += 1,
                Some(_) => after |= *index > border,
            }
        }
        if after { self.needs_entries(table, None, "#") } else { Ok(border) }
    }

    /// Something about a table depends on the packet: the table needs memory, which expanded code does not have.
    pub fn needs_memory<T>(&mut self, name: &str) -> Result<T> {
        self.unroll_or_refuse(LowerErrorKind::TableConstructor, name)
    }

    /// Where a loop may be why something has no form, lowering starts again with the innermost loop unrolled.
    pub fn unroll_or_refuse<T>(&mut self, kind: LowerErrorKind, name: &str) -> Result<T> {
        let refusal = self.refuse(kind, Some(name));
        if let (Some(innermost), Err(Stop::Error(error))) =
            (self.execution.active_loops.last().cloned(), &refusal)
        {
            self.findings.stop_if_stale()?;
            self.known.unrolled.entry(innermost).or_insert_with(|| error.clone());
            return Err(Stop::Restart);
        }
        refusal
    }
}

impl State {
    /// The table's field, without its metatable.
    pub fn made_field(&self, table: u32, key: &Key) -> Abs {
        let cell = self.tables.get(&table).and_then(|made| made.fields.get(key));
        cell.and_then(|cell| self.cells.get(cell)).cloned().unwrap_or(Abs::Nil)
    }

    pub fn metatable_of(&self, snapshot: &Snapshot, object: &Object) -> Option<Object> {
        match object {
            Object::Table(table) => snapshot.table(*table).metatable.map(Object::Table),
            Object::Made(table) => self.tables.get(table).and_then(|made| made.metatable.clone()),
            _ => None,
        }
    }

    /// The value of a metatable's field, e.g. `__index`.
    pub fn metafield(&self, snapshot: &Snapshot, metatable: &Object, event: &str) -> Abs {
        match metatable {
            Object::Table(table) => {
                let key = moonhook_snapshot::Value::string(event);
                let value = crate::tables::raw_get(snapshot, *table, &key);
                Abs::of_load_time(snapshot, &value)
            }
            Object::Made(table) => self.made_field(*table, &Key::Text(Arc::from(event.as_bytes()))),
            _ => Abs::Nil,
        }
    }
}

/// Makes the paths that meet agree on the tables and their keys. `false`: a table has another metatable on each path.
pub fn align(arms: &mut [Arm]) -> bool {
    let Some((first, others)) = arms.split_first() else { return true };
    if others.iter().all(|arm| arm.state.tables.is(&first.state.tables)) {
        return true;
    }
    fill_absent(arms);
    let Some((first, others)) = arms.split_first() else { return true };
    let mut all = first.state.tables.clone();
    for (id, made) in others.iter().flat_map(|arm| arm.state.tables.iter()) {
        match all.get(id) {
            None => {
                all.insert(*id, made.clone());
            }
            Some(known) if known.metatable != made.metatable => return false,
            Some(known) if known.fields == made.fields => {}
            Some(_) => {
                let fields = made.fields.iter().map(|(key, cell)| (key.clone(), *cell));
                all.entry(*id).or_default().fields.extend(fields);
            }
        }
    }
    arms.iter_mut().for_each(|arm| arm.state.tables = all.clone());
    true
}

/// Gives the fields of tables that are not there on a path a value of the kind that they have on another one: nobody can ask for them on a
/// path without the table, and where all others have the same kind, so has what comes of them.
fn fill_absent(arms: &mut [Arm]) {
    for number in 0..arms.len() {
        let mut absent = Vec::new();
        for other in arms.iter() {
            let tables =
                other.state.tables.iter().filter(|(id, _)| !arms[number].state.tables.contains_key(id));
            for cell in tables.flat_map(|(_, made)| made.fields.values()) {
                let value = other.state.cells.get(cell).and_then(any_of_kind);
                absent.extend(value.map(|value| (*cell, value)));
            }
        }
        for (cell, value) in absent {
            if arms[number].state.cells.get(&cell).is_none_or(|known| *known == Abs::Nil) {
                arms[number].state.cells.insert(cell, value);
            }
        }
    }
}

/// A value that is represented like another one. There is none of what is in the kernel's memory, whose address the verifier follows.
fn any_of_kind(value: &Abs) -> Option<Abs> {
    let none = Word::Imm(0);
    Some(match value {
        Abs::Bool(_) => Abs::Bool(none),
        Abs::Int(_) => Abs::Int(none),
        Abs::Float(_) => Abs::Float(none),
        Abs::Object(_) | Abs::Str(Str::Const(_)) => value.clone(),
        Abs::Str(Str::Slice { space, .. }) => {
            Abs::Str(Str::Slice { space: *space, start: none, length: none })
        }
        _ => return None,
    })
}

/// Gives the tables that enter a loop the keys that come round it. Says whether that changed anything.
pub fn align_entry(entry: &mut State, back: &[State]) -> bool {
    let mut changed = false;
    for state in back {
        for (id, made) in entry.tables.iter_mut() {
            let Some(coming) = state.tables.get(id).filter(|coming| coming.fields != made.fields) else {
                continue;
            };
            for (key, cell) in coming.fields.iter() {
                if made.fields.insert(key.clone(), *cell).is_none() {
                    entry.cells.insert(*cell, Abs::Nil);
                    changed = true;
                }
            }
        }
    }
    changed
}
