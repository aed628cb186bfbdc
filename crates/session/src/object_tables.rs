//! Maps of C objects as tables: what `moonhook table` shows of them, and sets in them.
//!
//! Of maps with values of each CPU the sums are shown; what is set, the first CPU has.

use crate::SessionError;
use crate::c_values::CType;
use crate::object_maps::ObjectMap;
use moonhook_daemon::TableInfo;
use moonhook_install::{Cursor, InstallError, Program, TableMap};
use moonhook_schema::Datum;
use std::collections::VecDeque;

/// Rings, stacks, maps of programs or maps are no tables (`enum bpf_map_type`): hash, array, both per CPU, LRU, LRU per CPU, prefixes.
const TABLES: [u32; 7] = [1, 2, 5, 6, 9, 10, 11];

/// Arrays, of each CPU or not: their elements are there from the start, and stay.
const ARRAYS: [u32; 2] = [2, 6];

/// A map of a C object as a table.
pub struct ObjectTable {
    name: String,
    map: TableMap,
    key: CType,
    value: CType,
    capacity: u32,
    is_array: bool,
}

/// Where a traversal stands.
#[derive(Default)]
pub struct Walk {
    cursor: Cursor,
    /// Entries that were read and not given.
    waiting: VecDeque<(Datum, Datum)>,
}

/// The tables that maps are, or why one is none. Weak maps that several objects have are one.
pub struct ObjectTables(Vec<(String, Result<ObjectTable, String>)>);

impl ObjectTables {
    /// # Errors
    /// Where there are no descriptors left.
    pub fn open(maps: &[ObjectMap], program: &Program) -> Result<ObjectTables, InstallError> {
        let mut tables = Vec::new();
        for (number, map) in maps.iter().enumerate() {
            if maps[..number].iter().all(|other| other.name != map.name) {
                tables.push((map.path.clone(), ObjectTable::open(map, program)?));
            }
        }
        Ok(ObjectTables(tables))
    }

    pub fn infos(&self) -> impl Iterator<Item = TableInfo> {
        self.0.iter().filter_map(|(_, table)| table.as_ref().ok()).map(ObjectTable::info)
    }

    /// Names of all that can be shown.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.infos().map(|info| info.name)
    }

    /// The table of that name, or with a name that ends so behind a slash; `None` where there is none, or several are.
    ///
    /// # Errors
    /// `OfMap` for one that cannot be shown.
    pub fn named(&self, name: &str) -> Option<Result<&ObjectTable, SessionError>> {
        let whole = self.0.iter().position(|(own, _)| own == name);
        let end = format!("/{name}");
        let mut ending = (0..self.0.len()).filter(|number| self.0[*number].0.ends_with(&end));
        let (first, second) = (ending.next(), ending.next());
        let (name, table) = &self.0[whole.or(first.filter(|_| second.is_none()))?];
        let refused = |problem: &String| SessionError::OfMap {
            map: name.clone(),
            problem: problem.clone(),
            help: "`bpftool map dump` shows its bytes",
        };
        Some(table.as_ref().map_err(refused))
    }
}

impl ObjectTable {
    fn open(map: &ObjectMap, program: &Program) -> Result<Result<ObjectTable, String>, InstallError> {
        let definition = map.definition();
        if !TABLES.contains(&definition.map_type) {
            return Ok(Err("it has no entries of keys and values".to_string()));
        }
        let types = |what: &str, of| {
            CType::new(&map.object.types, of).map_err(|problem| format!("its {what} {problem}"))
        };
        let (key, value) = match (types("keys", definition.key), types("values", definition.value)) {
            (Ok(key), Ok(value)) => (key, value),
            (Err(problem), _) | (_, Err(problem)) => return Ok(Err(problem)),
        };
        let (name, capacity) = (map.path.clone(), definition.max_entries);
        let is_array = ARRAYS.contains(&definition.map_type);
        Ok(Ok(ObjectTable { name, map: program.table(&map.name)?, key, value, capacity, is_array }))
    }

    fn info(&self) -> TableInfo {
        TableInfo {
            name: self.name.clone(),
            script: None,
            key: self.key.name(),
            value: self.value.name(),
            capacity: self.capacity,
            fields: self.value.fields(),
        }
    }

    fn wrong(&self, what: &str, problem: &str) -> SessionError {
        SessionError::OfMap {
            map: self.name.clone(),
            problem: format!("bad {what}: {problem}"),
            help: "`moonhook table SCRIPT` lists what keys and values are, in the types of C",
        }
    }

    fn cannot(&self, problem: &str, help: &'static str) -> SessionError {
        SessionError::OfMap { map: self.name.clone(), problem: problem.to_string(), help }
    }

    /// Why no list takes the place of all its content: that takes another map in the program, which is made for tables of scripts only.
    pub fn no_list(&self) -> SessionError {
        let problem = "its content cannot be replaced at once";
        self.cannot(problem, "`load FILE --add` assigns entries one after another; `clear` removes all")
    }

    fn key(&self, key: &Datum) -> Result<Vec<u8>, SessionError> {
        self.key.encode(key).map_err(|problem| self.wrong("key", &problem))
    }

    /// The value at a key; nil without entry.
    ///
    /// # Errors
    /// `OfMap` for what is no key; what the kernel refuses.
    pub fn get(&self, key: &Datum) -> Result<Datum, SessionError> {
        let found = self.map.lookup(&self.key(key)?)?;
        Ok(found.map_or(Datum::Nil, |bytes| self.decode(&bytes)))
    }

    /// # Errors
    /// `OfMap` for what is no key or no value, and where it is full; what the kernel refuses.
    pub fn set(&self, key: &Datum, value: &Datum) -> Result<(), SessionError> {
        let key = self.key(key)?;
        let mut bytes = self.value.encode(value).map_err(|problem| self.wrong("value", &problem))?;
        bytes.resize(self.map.value_size(), 0);
        match self.map.update(&key, &bytes)? {
            true => Ok(()),
            false if self.is_array => Err(self.wrong("key", &format!("it has {} elements", self.capacity))),
            false => Err(self.cannot("it is full", "declare `max_entries` of more")),
        }
    }

    /// Whether there was an entry.
    ///
    /// # Errors
    /// `OfMap` for what is no key, and of arrays; what the kernel refuses.
    pub fn delete(&self, key: &Datum) -> Result<bool, SessionError> {
        self.check_not_array()?;
        Ok(self.map.delete(&self.key(key)?)?)
    }

    /// Removes all; gives how many there were.
    ///
    /// # Errors
    /// As [`ObjectTable::delete`].
    pub fn clear(&self) -> Result<usize, SessionError> {
        self.check_not_array()?;
        Ok(self.map.clear()?)
    }

    fn check_not_array(&self) -> Result<(), SessionError> {
        let stay = || self.cannot("elements of arrays stay", "set them to other values");
        if self.is_array { Err(stay()) } else { Ok(()) }
    }

    /// How many entries there are.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn count(&self) -> Result<usize, SessionError> {
        let (mut cursor, mut count) = (Cursor::default(), 0);
        loop {
            let batch = self.map.read(&mut cursor)?;
            if batch.keys.is_empty() {
                return Ok(count);
            }
            count += batch.keys.len() / self.map.key_size().max(1);
        }
    }

    /// The next entries of a traversal, `limit` at most; none at its end.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn next_entries(&self, walk: &mut Walk, limit: usize) -> Result<Vec<(Datum, Datum)>, SessionError> {
        while walk.waiting.len() < limit {
            let batch = self.map.read(&mut walk.cursor)?;
            if batch.keys.is_empty() {
                break;
            }
            let keys = batch.keys.chunks_exact(self.map.key_size().max(1));
            let values = batch.values.chunks_exact(self.map.value_size().max(1));
            walk.waiting
                .extend(keys.zip(values).map(|(key, value)| (self.key.decode(key), self.decode(value))));
        }
        let count = limit.min(walk.waiting.len());
        Ok(walk.waiting.drain(..count).collect())
    }

    /// The value of all CPUs.
    fn decode(&self, bytes: &[u8]) -> Datum {
        let each = (self.map.value_size() / self.map.cpus().max(1)).max(1);
        let of_cpu = |bytes: &[u8]| self.value.decode(bytes.get(..self.value.size).unwrap_or(bytes));
        bytes.chunks(each).map(of_cpu).reduce(sum).unwrap_or(Datum::Nil)
    }
}

/// Integers are added up; of what is none, the first CPU's counts.
fn sum(one: Datum, other: Datum) -> Datum {
    match (one, other) {
        (Datum::Integer(one), Datum::Integer(other)) => Datum::Integer(one.wrapping_add(other)),
        (Datum::Record(one), Datum::Record(other)) => {
            let both = one.into_iter().zip(other);
            Datum::Record(both.map(|((name, one), (_, other))| (name, sum(one, other))).collect())
        }
        (one, _) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_cpus_are_added_up() {
        let of_cpu = |number, name: &str| {
            Datum::Record(vec![
                ("count".into(), Datum::Integer(number)),
                ("name".into(), Datum::Text(name.into())),
            ])
        };
        assert_eq!(sum(of_cpu(3, "first"), of_cpu(4, "")), of_cpu(7, "first"));
        assert_eq!(sum(Datum::Integer(i64::MAX), Datum::Integer(1)), Datum::Integer(i64::MIN));
    }
}
