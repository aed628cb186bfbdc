//! What is known of shared tables.

use super::additions::Additions;
use super::loaded::entries;
use super::seen::{Misfit, Seen};
use crate::first_sums::FirstField;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_schema::Schema;
use moonhook_snapshot::{Snapshot, Table, TableId};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A record in the values of a shared table: the table, and the fields that lead there.
pub type Path = (TableId, Vec<String>);

/// The fields that lead to a value in an entry.
pub type FieldPath = Vec<String>;

/// What handlers read of entries, by table: where it was read, and what was loaded if that is one word.
#[derive(Debug, Default)]
pub struct Reads(pub(super) Vec<(TableId, FieldPath, Option<ir::Value>)>);

impl Reads {
    /// Forgets what was loaded in values from `count` on.
    pub(super) fn forget(&mut self, count: u32) {
        self.0.retain(|(.., value)| value.is_none_or(|value| value.0 < count));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The shared tables, and what is known of them.
#[derive(Debug, Default)]
pub struct SharedTables {
    pub(super) known: BTreeMap<TableId, Known>,
    pub additions: Additions,
    /// Stack slots that are used at more than one place, by name: for keys and values that follows from the size.
    pub(super) slots: Vec<(u32, ir::Slot)>,
    /// A declared table that was read, and where, without a type of its values being known.
    pub(super) untyped: Option<(TableId, ir::Loc)>,
    /// What was read of entries in this attempt.
    pub(super) reads: Reads,
    /// In stubs: 1 where the handler has seen that there is no entry with the key that is being assigned, else 0.
    pub seen_absent: Option<Word>,
    /// Fields of the table that is being assigned which are first counts.
    pub first_fields: Vec<FirstField>,
    /// Records in values, as [`crate::value::Abs::Entry`] numbers them.
    pub(super) paths: Vec<Path>,
}

#[derive(Clone, Debug, Default)]
pub struct Known {
    pub(super) key: Seen,
    pub(super) value: Seen,
    /// Handlers go from one key to the next.
    pub(super) steps: bool,
    /// What is copied when an entry is looked up ([`super::copies`]).
    pub(super) copied: std::collections::BTreeSet<Vec<String>>,
    /// In the module being made.
    pub(super) map: Option<(ir::MapId, Rc<Schema>)>,
}

impl SharedTables {
    /// How many tables are known to be maps.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// What is known, for another attempt ([`SharedTables::start_over`]).
    pub fn anew(&self) -> SharedTables {
        SharedTables { known: self.known.clone(), paths: self.paths.clone(), ..SharedTables::default() }
    }

    /// Before a new attempt.
    pub fn start_over(&mut self) {
        self.known.values_mut().for_each(|known| known.map = None);
        self.additions = Additions::default();
        self.reads.clear();
        self.slots.clear();
        self.untyped = None;
    }

    /// Before the code of another function that uses the same maps.
    pub fn start_function(&mut self) {
        self.additions = Additions::default();
        self.reads.clear();
        self.slots.clear();
        self.seen_absent = None;
    }

    /// Tables that were seen to be assigned by key.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        self.known.keys().copied()
    }

    /// Whether a table of load time can become a map: what is in it fits, and nothing but the script has it.
    pub fn takes(snapshot: &Snapshot, table: TableId) -> bool {
        let key_fits = |seen: &Seen| seen.is_empty() || seen.key_ty().is_ok();
        let value_fits = |seen: &Seen| seen.is_empty() || seen.ty().is_ok();
        let known = initial(snapshot, snapshot.table(table));
        known.is_ok_and(|known| key_fits(&known.key) && value_fits(&known.value))
    }

    /// Provides what keys and values of a table are likely to be, where nothing else tells.
    pub fn suggest(&mut self, snapshot: &Snapshot, table: TableId, key: &Seen, value: &Seen) {
        let known = || initial(snapshot, snapshot.table(table)).unwrap_or_default();
        let known = self.known.entry(table).or_insert_with(known);
        if known.key.is_empty() {
            known.key.add(key);
        }
        if known.value.is_empty() || known.value.has_no_fields() {
            known.value.add(value);
        }
        // The walk for expanded code may have ended before it met the others.
        known.value.add_other_sorts(value);
    }

    /// Handlers go from one key of the table to the next.
    pub fn step_through(&mut self, table: TableId) {
        self.known.entry(table).or_default().steps = true;
    }

    /// Takes addresses for the texts that they are, which general code has of them.
    pub fn take_addresses_for_texts(&mut self) {
        for known in self.known.values_mut() {
            known.key.take_addresses_for_texts();
            known.value.take_addresses_for_texts();
        }
    }

    /// The stack slot of that name, which is made if it is not there yet.
    pub fn slot(&mut self, name: u32, bytes: u32, function: &mut ir::Function) -> ir::Slot {
        let known = self.slots.iter().find(|(own, _)| *own == name).map(|(_, slot)| *slot);
        known.unwrap_or_else(|| {
            let slot = function.new_slot(bytes);
            self.slots.push((name, slot));
            slot
        })
    }

    /// Forgets values from `values` on and slots from `slots` on.
    pub fn forget(&mut self, values: u32, slots: usize) {
        self.additions.forget(values);
        self.reads.forget(values);
        self.slots.retain(|(_, slot)| slot.index() < slots);
    }
}

/// What the entries of load time tell of the table's types; `Err` is what no map can hold: something in it, or its metatable.
pub(super) fn initial(snapshot: &Snapshot, table: &Table) -> std::result::Result<Known, Misfit> {
    if table.metatable.is_some() {
        return Err(Misfit::Metatable);
    }
    let mut known = Known::default();
    for (key, value) in entries(table) {
        known.key.add(&Seen::of_key(snapshot, &key)?);
        known.value.add(&Seen::of_value(snapshot, value)?);
    }
    Ok(known)
}
