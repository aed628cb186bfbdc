//! A shared table by its name and schema: entries as data, in and out of the map.

use crate::ControlError;
use crate::values::{merged, spread};
use moonhook_install::{Batch, Cursor, InstallError, Program, TableMap};
use moonhook_ir::Module;
use moonhook_schema::{Datum, Schema, SchemaError, decode_key, encode_key};
use moonhook_snapshot::qualified;
use std::borrow::Borrow;
use std::sync::{Arc, PoisonError, RwLock};

/// A table of a script that lives in a map of the kernel. Expired entries are not there for anyone who asks.
#[derive(Debug)]
pub struct SharedTable {
    name: String,
    /// Which of several scripts has it.
    script: Option<String>,
    schema: Schema,
    /// Another one when the table's content was replaced.
    map: RwLock<Arc<TableMap>>,
}

/// Entries that one call of the kernel gets while many are loaded.
const LOAD: usize = 4096;

/// The table whose own name that is, or whose plain name if no other one has it.
///
/// # Errors
/// `NoSuchTable`, `Ambiguous`.
pub fn table_named<'a>(
    tables: &'a [Arc<SharedTable>],
    name: &str,
) -> Result<&'a Arc<SharedTable>, ControlError> {
    if let Some(table) = tables.iter().find(|table| table.script.is_some() && table.own_name() == name) {
        return Ok(table);
    }
    let called: Vec<_> = tables.iter().filter(|table| table.name() == name).collect();
    let own_names = |tables: &mut dyn Iterator<Item = &Arc<SharedTable>>| {
        tables.map(|table| table.own_name()).collect::<Vec<_>>()
    };
    let name = name.to_string();
    match called.as_slice() {
        [] => Err(ControlError::NoSuchTable { name, existing: own_names(&mut tables.iter()) }),
        // Of several in one script the first counts.
        [first, others @ ..] if others.iter().all(|other| other.script == first.script) => Ok(first),
        _ => Err(ControlError::Ambiguous { name, existing: own_names(&mut called.into_iter()) }),
    }
}

impl SharedTable {
    /// The table `table` of the module, in the loaded program.
    ///
    /// # Errors
    /// `Install` where the program has no such map.
    pub fn open(
        program: &Program,
        module: &Module,
        table: &moonhook_ir::SharedTable,
    ) -> Result<SharedTable, InstallError> {
        let map = program.table(&module.map(table.map).name)?;
        let map = RwLock::new(Arc::new(map));
        Ok(SharedTable { name: table.name.clone(), script: None, schema: table.schema.clone(), map })
    }

    /// An empty table of the same name and schema, in a map that no program uses yet.
    ///
    /// # Errors
    /// `Install`, also for want of memory.
    pub fn twin(&self) -> Result<SharedTable, ControlError> {
        let map = RwLock::new(Arc::new(self.map().twin()?));
        let (name, script) = (self.name.clone(), self.script.clone());
        Ok(SharedTable { name, script, schema: self.schema.clone(), map })
    }

    /// From now on this table is in the map of `other`, which has the same schema. Traversals that have begun go on in the old map.
    pub fn become_like(&self, other: &SharedTable) {
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = other.map();
    }

    /// The map that the table is in.
    pub fn map(&self) -> Arc<TableMap> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the script calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the script is called that has it, if there are several.
    pub fn script(&self) -> Option<&str> {
        self.script.as_deref()
    }

    /// A name that is its own among those of several scripts.
    pub fn own_name(&self) -> String {
        qualified(self.script(), &self.name)
    }

    /// The table as one of that script.
    pub(crate) fn of_script(self, script: Option<&str>) -> SharedTable {
        SharedTable { script: script.map(str::to_string), ..self }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The value at `key`; nil without entry, and for a key that no entry can have.
    ///
    /// # Errors
    /// `Install`.
    pub fn get(&self, key: &Datum) -> Result<Datum, ControlError> {
        match self.key(key) {
            Ok(key) => Ok(self.value(&key)?.unwrap_or(Datum::Nil)),
            Err(_) => Ok(Datum::Nil),
        }
    }

    /// Whether an entry can have this key.
    ///
    /// # Errors
    /// `Unfit`, which says what keys are.
    pub fn check_key(&self, key: &Datum) -> Result<(), ControlError> {
        self.key(key).map(drop)
    }

    /// Assigns a value; nil deletes the entry.
    ///
    /// # Errors
    /// `Unfit`, `Full`, `Install`.
    pub fn set(&self, key: &Datum, value: &Datum) -> Result<(), ControlError> {
        if *value == Datum::Nil {
            return self.delete(key).map(drop);
        }
        let key = self.key(key)?;
        self.assign(&key, value)
    }

    /// Removes an entry; says whether there was one.
    ///
    /// # Errors
    /// `Install`.
    pub fn delete(&self, key: &Datum) -> Result<bool, ControlError> {
        let Ok(key) = self.key(key) else { return Ok(false) };
        let alive = self.value(&key)?.is_some();
        Ok(self.map().delete(&key)? && alive)
    }

    /// All entries, in no particular order. Those that come or go meanwhile may be there or not.
    pub fn entries(&self) -> Entries<'_> {
        Entries { table: self, pairs: Pairs::default() }
    }

    /// How many entries there are: all of them are looked at.
    ///
    /// # Errors
    /// `Install`.
    pub fn count(&self) -> Result<usize, ControlError> {
        let mut pairs = Pairs::default();
        let mut count = 0;
        while pairs.next(self)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Assigns many entries, with a few calls of the kernel. Gives how many. Before an error, earlier ones may have been assigned.
    ///
    /// # Errors
    /// `Entry` with the entry's number and an error as of [`SharedTable::set`]; nil is no value here.
    pub fn load<D: Borrow<Datum>>(
        &self,
        entries: impl IntoIterator<Item = (D, D)>,
    ) -> Result<usize, ControlError> {
        let (mut batch, mut waiting, mut set) = (Batch::default(), 0, 0);
        let deadline = self.deadline();
        for (key, value) in entries {
            let bytes =
                self.key(key.borrow()).and_then(|key| Ok((key, self.bytes(value.borrow(), deadline)?)));
            let (key, value) = bytes.map_err(|error| error.of_entry(set + waiting))?;
            batch.push(&key, &value);
            waiting += 1;
            if waiting == LOAD {
                set += self.fill(&batch, waiting, set)?;
                (waiting, batch) = (0, Batch::default());
            }
        }
        Ok(set + self.fill(&batch, waiting, set)?)
    }

    /// Sets so many entries, the first of which is number `first`.
    fn fill(&self, batch: &Batch, entries: usize, first: usize) -> Result<usize, ControlError> {
        let set = self.map().fill(batch)?;
        if set < entries {
            return Err(ControlError::Full { table: self.name.clone() }.of_entry(first + set));
        }
        Ok(entries)
    }

    /// Removes all entries; gives how many there were, expired ones too.
    ///
    /// # Errors
    /// `Install`.
    pub fn clear(&self) -> Result<usize, ControlError> {
        Ok(self.map().clear()?)
    }

    /// Removes entries whose time was over at `time`, among those of some `batches` behind the cursor. Says whether these were the
    /// last ones.
    ///
    /// # Errors
    /// `Install`.
    pub(crate) fn sweep(&self, cursor: &mut Cursor, batches: usize, time: u64) -> Result<bool, ControlError> {
        let map = self.map();
        let (key_size, value_size) = (map.key_size(), map.value_size());
        for _ in 0..batches {
            let batch = map.read(cursor)?;
            if batch.keys.is_empty() {
                return Ok(true);
            }
            let entries = batch.keys.chunks_exact(key_size).zip(batch.values.chunks_exact(value_size));
            for (key, value) in entries {
                if self.deadline_in(value) <= time {
                    self.remove_expired(key, time)?;
                }
            }
        }
        Ok(false)
    }

    /// Removes an entry that had expired when it was read. It may have been assigned since: then it stays, or comes back.
    fn remove_expired(&self, key: &[u8], time: u64) -> Result<(), ControlError> {
        let alive = |value: &Vec<u8>| self.deadline_in(value) > time;
        let map = self.map();
        if map.lookup(key)?.is_none_or(|value| alive(&value)) {
            return Ok(());
        }
        if let Some(value) = map.take(key)?.filter(alive) {
            // What a handler has assigned in the meantime is newer. Where there is no room, another entry has taken it.
            map.insert(key, &value)?;
        }
        Ok(())
    }

    /// When the time of an entry with these bytes is over, on the CPU where it is longest.
    fn deadline_in(&self, value: &[u8]) -> u64 {
        let each = value.chunks_exact(self.schema.value_size());
        let deadline = |value: &[u8]| value.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        each.map(deadline).max().unwrap_or(0)
    }

    /// The bytes of a key.
    pub(crate) fn key(&self, key: &Datum) -> Result<Vec<u8>, ControlError> {
        let encoded = encode_key(&self.schema, key);
        let encoded =
            encoded.or_else(|_| encode_key(&self.schema, &key.clone().as_of_type(&self.schema.key)));
        encoded.map_err(|problem| self.unfit("key", problem))
    }

    /// The value of the entry with the key of these bytes.
    pub(crate) fn value(&self, key: &[u8]) -> Result<Option<Datum>, ControlError> {
        let Some(bytes) = self.map().lookup(key)? else { return Ok(None) };
        Ok(self.alive(&bytes, now()))
    }

    /// Assigns the value of the entry with the key of these bytes.
    pub(crate) fn assign(&self, key: &[u8], value: &Datum) -> Result<(), ControlError> {
        let bytes = self.bytes(value, self.deadline())?;
        match self.map().update(key, &bytes)? {
            true => Ok(()),
            false => Err(ControlError::Full { table: self.name.clone() }),
        }
    }

    fn bytes(&self, value: &Datum, deadline: u64) -> Result<Vec<u8>, ControlError> {
        let bytes = |value: &Datum| spread(&self.schema, value, deadline, self.map().cpus());
        let bytes = bytes(value).or_else(|_| bytes(&value.clone().as_of_type(&self.schema.value)));
        bytes.map_err(|problem| self.unfit("value", problem))
    }

    /// The value in the bytes of an entry, unless its time is over.
    fn alive(&self, bytes: &[u8], now: u64) -> Option<Datum> {
        merged(&self.schema, bytes, now)
    }

    fn deadline(&self) -> u64 {
        self.schema.lifetime.map_or(0, |lifetime| now().saturating_add(lifetime))
    }

    pub(crate) fn unfit(&self, what: &'static str, problem: SchemaError) -> ControlError {
        let takes = match what {
            "key" => &self.schema.key,
            _ => &self.schema.value,
        };
        ControlError::Unfit { table: self.name.clone(), what, takes: takes.to_string(), problem }
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds, what `bpf_ktime_get_ns` gives; or what it is said to be on this thread.
pub(crate) fn now() -> u64 {
    // The clock is there on every Linux (clock_gettime(2)).
    moonhook_load::time().map_or(0, |now| now.monotonic as u64)
}

/// A traversal of a table's entries.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// The map that the traversal began in.
    map: Option<Arc<TableMap>>,
    cursor: Cursor,
    batch: Batch,
    at: usize,
}

/// An entry: the bytes of its key, and its value.
pub(crate) type Pair = (Vec<u8>, Datum);

impl Pairs {
    /// The next entry that has not expired.
    pub fn next(&mut self, table: &SharedTable) -> Result<Option<Pair>, ControlError> {
        let now = now();
        let map = Arc::clone(self.map.get_or_insert_with(|| table.map()));
        loop {
            let (key_size, value_size) = (map.key_size(), map.value_size());
            while let Some(key) = self.batch.keys.chunks_exact(key_size).nth(self.at) {
                let start = self.at * value_size;
                self.at += 1;
                if let Some(value) = table.alive(&self.batch.values[start..start + value_size], now) {
                    return Ok(Some((key.to_vec(), value)));
                }
            }
            self.at = 0;
            self.batch = map.read(&mut self.cursor)?;
            if self.batch.keys.is_empty() {
                return Ok(None);
            }
        }
    }
}

/// Where a traversal of a table stands that goes on later.
#[derive(Debug, Default)]
pub struct Traversal(Pairs);

impl SharedTable {
    /// The next entries of a traversal, `limit` at most; none at its end.
    ///
    /// # Errors
    /// `Install`.
    pub fn next_entries(
        &self,
        traversal: &mut Traversal,
        limit: usize,
    ) -> Result<Vec<(Datum, Datum)>, ControlError> {
        let mut entries = Vec::new();
        while entries.len() < limit {
            let Some((key, value)) = traversal.0.next(self)? else { break };
            entries.push((decode_key(&self.schema, &key), value));
        }
        Ok(entries)
    }
}

/// The iterator of [`SharedTable::entries`].
#[derive(Debug)]
pub struct Entries<'table> {
    table: &'table SharedTable,
    pairs: Pairs,
}

impl Iterator for Entries<'_> {
    type Item = Result<(Datum, Datum), ControlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.pairs.next(self.table).transpose()?;
        Some(pair.map(|(key, value)| (decode_key(&self.table.schema, &key), value)))
    }
}
