//! Answers about the shared tables.

use crate::SessionError;
use crate::dump::OpenDump;
use crate::installed::AnyTable;
use crate::lists::data;
use crate::object_tables::{ObjectTable, Walk};
use crate::session::Session;
use moonhook_control::{SharedTable, Traversal};
use moonhook_daemon::{ClientId, Dumped, TableInfo, TableOperation};
use moonhook_daemon::{from_json, to_json};
use moonhook_schema::{Datum, Type};
use serde_json::{Value, json};
use std::sync::Arc;

/// Dumps that are remembered; the oldest one is forgotten.
const OPEN_DUMPS: usize = 16;
/// Entries of one answer.
const PAGE: usize = 1000;

impl Session {
    pub(crate) fn tables(&self) -> Vec<TableInfo> {
        let info = |table: &Arc<SharedTable>| TableInfo {
            name: table.own_name(),
            script: table.script().map(str::to_string),
            key: table.schema().key.to_string(),
            value: table.schema().value.to_string(),
            capacity: table.schema().capacity,
            fields: fields(&table.schema().value),
        };
        self.installed.tables.iter().map(info).chain(self.installed.object_tables.infos()).collect()
    }

    /// Does one thing with a table.
    pub(crate) fn table(
        &mut self,
        client: ClientId,
        name: &str,
        operation: &TableOperation,
    ) -> Result<Value, SessionError> {
        match operation {
            TableOperation::Begin => return self.begin_list(client, name).map(|()| Value::Null),
            TableOperation::Add { entries, keys } => {
                return self.add_to_list(client, name, entries, keys).map(Value::from);
            }
            _ => {}
        }
        if let TableOperation::Dump { dump } = operation {
            return self.dump(name, *dump);
        }
        let table = match self.installed.any_table(name)? {
            AnyTable::Shared(table) => table,
            AnyTable::OfObject(table) => return of_object(table, operation),
        };
        Ok(match operation {
            TableOperation::Get { key } => to_json(&table.get(&fitting(table, key)?)?),
            TableOperation::Set { key, value } => {
                table.set(&from_json(key)?, &from_json(value)?)?;
                Value::Null
            }
            TableOperation::Delete { key } => table.delete(&fitting(table, key)?)?.into(),
            TableOperation::Load { entries, keys } => table.load(data(entries, keys)?)?.into(),
            TableOperation::Count => table.count()?.into(),
            TableOperation::Clear => table.clear()?.into(),
            // Seen to above, and by who changes the program.
            TableOperation::Dump { .. }
            | TableOperation::Begin
            | TableOperation::Add { .. }
            | TableOperation::Commit => Value::Null,
        })
    }

    fn dump(&mut self, name: &str, dump: Option<u64>) -> Result<Value, SessionError> {
        let table = self.installed.any_table(name)?;
        let known = |open: &OpenDump| Some(open.id) == dump && open.table == name;
        let mut open = match self.dumps.iter().position(known) {
            Some(position) => self.dumps.remove(position),
            None if dump.is_some() => return Err(SessionError::DumpGone { name: name.to_string() }),
            None => {
                self.last_dump += 1;
                let (table, traversal) = (name.to_string(), Traversal::default());
                OpenDump { id: self.last_dump, table, traversal, walk: Walk::default() }
            }
        };
        let entries = match table {
            AnyTable::Shared(table) => table.next_entries(&mut open.traversal, PAGE)?,
            AnyTable::OfObject(table) => table.next_entries(&mut open.walk, PAGE)?,
        };
        let entries: Vec<_> = entries.iter().map(|(key, value)| (to_json(key), to_json(value))).collect();
        let id = (entries.len() == PAGE).then_some(open.id);
        if id.is_some() {
            if self.dumps.len() == OPEN_DUMPS {
                self.dumps.remove(0);
            }
            self.dumps.push(open);
        }
        Ok(json!(Dumped { dump: id, entries }))
    }
}

/// Does one thing with a map of a C object.
fn of_object(table: &ObjectTable, operation: &TableOperation) -> Result<Value, SessionError> {
    Ok(match operation {
        TableOperation::Get { key } => to_json(&table.get(&from_json(key)?)?),
        TableOperation::Set { key, value } if value.is_null() => {
            table.delete(&from_json(key)?)?;
            Value::Null
        }
        TableOperation::Set { key, value } => {
            table.set(&from_json(key)?, &from_json(value)?)?;
            Value::Null
        }
        TableOperation::Delete { key } => table.delete(&from_json(key)?)?.into(),
        TableOperation::Load { entries, keys } => {
            let all = data(entries, keys)?;
            for (entry, (key, value)) in all.iter().enumerate() {
                table.set(key, value).map_err(|error| error.of_entry(entry))?;
            }
            all.len().into()
        }
        TableOperation::Count => table.count()?.into(),
        TableOperation::Clear => table.clear()?.into(),
        TableOperation::Dump { .. }
        | TableOperation::Begin
        | TableOperation::Add { .. }
        | TableOperation::Commit => return Err(table.no_list()),
    })
}

/// A key that an entry can have. For Lua there is no entry with another one; a person who writes one is mistaken.
fn fitting(table: &SharedTable, key: &Value) -> Result<Datum, SessionError> {
    let key = from_json(key)?;
    table.check_key(&key)?;
    Ok(key)
}

fn fields(value: &Type) -> Vec<String> {
    match value {
        Type::Record(fields) => fields.iter().map(|field| field.name.clone()).collect(),
        _ => Vec::new(),
    }
}
