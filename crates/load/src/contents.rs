//! Content that is not the script's own: what tables are to hold when the scripts have run.
//!
//! Reads a snapshot for the tables' names, and writes the Lua tables of that number. Guarantees that a table has the given
//! entries and no others; its metatable stays.

use mlua::{Lua, Table, Value};
use moonhook_schema::{Datum, position};
use moonhook_snapshot::{Snapshot, TableId, qualified};

use crate::LoadError;

/// What a table is to hold instead of what the scripts have put into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The table's name: the variable that holds it.
    pub table: String,
    /// Of equal keys the last counts.
    pub entries: Vec<(Datum, Datum)>,
}

/// Puts the contents into the tables of `snapshot`, which `tables` has from 1. Lua's memory is limited from here on.
pub(crate) fn put(
    lua: &Lua,
    snapshot: &Snapshot,
    tables: &Table,
    contents: &[Content],
    memory_limit: usize,
) -> Result<(), LoadError> {
    let failed = |error| match error {
        mlua::Error::MemoryError(_) => LoadError::Memory { limit: memory_limit, place: None },
        error => crate::state_error(error),
    };
    lua.set_memory_limit(memory_limit).map_err(failed)?;
    for content in contents {
        let number = number(snapshot, &content.table)?;
        let table: Table = tables.raw_get(number).map_err(failed)?;
        fill(lua, &table, &content.entries).map_err(failed)?;
    }
    Ok(())
}

/// The number of the one table of this name that the script does not declare to be shared.
fn number(snapshot: &Snapshot, name: &str) -> Result<i64, LoadError> {
    // By the name that is its own among those of several scripts, or else by its plain one.
    let owner = |index: usize| snapshot.owners.of_table(TableId(index as u32));
    let own = |index: usize, plain: &str| qualified(owner(index), plain);
    let has_own = snapshot.tables.iter().enumerate().any(|(index, table)| {
        let is_own = |plain: &String| owner(index).is_some() && own(index, plain) == name;
        table.declaration.is_none() && table.name.as_ref().is_some_and(is_own)
    });
    let is_it = |(index, table): &&(usize, &moonhook_snapshot::Table)| {
        let Some(plain) = &table.name else { return false };
        let is_named = if has_own { own(*index, plain) == name } else { plain == name };
        is_named && table.declaration.is_none()
    };
    let refused = |problem| Err(LoadError::Content { table: name.to_string(), problem });
    let tables: Vec<_> = snapshot.tables.iter().enumerate().collect();
    let mut found = tables.iter().filter(is_it).map(|(index, _)| TableId(*index as u32));
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(i64::from(id.0) + 1),
        (None, _) => refused("handlers reach no table of that name"),
        (Some(_), Some(_)) => refused("handlers reach several tables of that name"),
    }
}

fn fill(lua: &Lua, table: &Table, entries: &[(Datum, Datum)]) -> mlua::Result<()> {
    table.clear()?;
    entries.iter().try_for_each(|(key, datum)| table.raw_set(value(lua, key)?, value(lua, datum)?))
}

fn value(lua: &Lua, datum: &Datum) -> mlua::Result<Value> {
    Ok(match datum {
        Datum::Nil => Value::Nil,
        Datum::Boolean(boolean) => Value::Boolean(*boolean),
        Datum::Integer(integer) => Value::Integer(*integer),
        Datum::Float(bits) => Value::Number(f64::from_bits(*bits)),
        Datum::Text(bytes) => Value::String(lua.create_string(bytes)?),
        Datum::Record(fields) => {
            let record = lua.create_table_with_capacity(0, fields.len())?;
            for (name, datum) in fields {
                let value = value(lua, datum)?;
                match position(name) {
                    Some(position) => record.raw_set(position, value)?,
                    None => record.raw_set(name.as_str(), value)?,
                }
            }
            Value::Table(record)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loaded, Options, load_with_contents};
    use moonhook_snapshot::Value as Frozen;

    const SCRIPT: &str = "local names, twice = {old = true}, {}\n\
        shared = map{key = 'int'}\n\
        local function other() local twice = {} return function() return twice end end\n\
        local inner = other()\n\
        require('xdp').attach(function(pkt) return names[#pkt], twice, inner(), shared[1] end)";

    fn loaded(table: &str, entries: Vec<(Datum, Datum)>, options: &Options) -> Result<Loaded, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua");
        std::fs::write(&path, SCRIPT).unwrap();
        load_with_contents(&[path], options, &[Content { table: table.into(), entries }])
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.into())
    }

    #[test]
    fn a_table_has_the_given_entries_and_no_others() {
        let record = Datum::Record(vec![("n".into(), Datum::Integer(7))]);
        let entries = vec![
            (text("b"), Datum::Boolean(true)),
            (text("a"), record),
            (Datum::Integer(1), text("x")),
            (text("b"), Datum::Boolean(false)),
        ];
        let loaded = loaded("names", entries, &Options::default()).unwrap();
        let is_it = |table: &moonhook_snapshot::Table| table.name.as_deref() == Some("names");
        let id = loaded.snapshot.tables.iter().position(is_it).unwrap();
        let names = &loaded.snapshot.tables[id];
        assert_eq!(names.array, [Frozen::string("x")]);
        let [(a, Frozen::Table(record)), (b, no)] = &names.entries[..] else { panic!("{names:?}") };
        assert_eq!((a, b, no), (&Frozen::string("a"), &Frozen::string("b"), &Frozen::Boolean(false)));
        let fields = &loaded.snapshot.table(*record).entries;
        assert_eq!(fields[..], [(Frozen::string("n"), Frozen::Integer(7))]);
        let table = loaded.table(TableId(id as u32)).unwrap();
        assert_eq!((table.raw_len(), table.contains_key("old").unwrap()), (1, false));
    }

    #[test]
    fn other_tables_are_refused() {
        for (name, problem) in [
            ("absent", "handlers reach no table of that name"),
            ("shared", "handlers reach no table of that name"),
            ("twice", "handlers reach several tables of that name"),
        ] {
            let error = loaded(name, Vec::new(), &Options::default()).err().unwrap();
            assert!(
                matches!(&error, LoadError::Content { problem: given, .. } if *given == problem),
                "{error}"
            );
            assert_eq!(error.diagnostic().code, "MH0111");
        }
    }

    #[test]
    fn memory_is_limited() {
        let entries = (0..100_000).map(|number| (text(&format!("name{number}")), Datum::Boolean(true)));
        let options = Options { memory_limit: 2 << 20, ..Options::default() };
        let error = loaded("names", entries.collect(), &options).err().unwrap();
        assert!(matches!(error, LoadError::Memory { .. }), "{error}");
    }
}
