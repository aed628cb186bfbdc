//! Lists that are to become a table's content: collected apart from it, and then put in its place at once.
//!
//! A table that handlers share with user space gets a new map, which the kernel fills in bulk and no program sees. A table that
//! handlers only read is constant data of the program: its list waits for the program to be compiled with it.

use crate::SessionError;
use crate::changes::Wanted;
use crate::installed::{AnyTable, Installed};
use crate::session::Session;
use moonhook_control::SharedTable;
use moonhook_daemon::ClientId;
use moonhook_daemon::from_json;
use moonhook_load::Content;
use moonhook_schema::Datum;
use serde_json::Value;

/// A client's list.
pub struct List {
    table: String,
    entries: u64,
    place: Place,
}

/// Where the entries are meanwhile.
enum Place {
    /// In a table like the one that they are for.
    Shared(SharedTable),
    Constant(Vec<(Datum, Datum)>),
}

impl Session {
    /// Begins a list for a table. One of the same client that was not finished is forgotten.
    ///
    /// # Errors
    /// `Control` if handlers have no such table.
    pub(crate) fn begin_list(&mut self, client: ClientId, table: &str) -> Result<(), SessionError> {
        self.lists.remove(&client);
        let place = match self.installed.table(table) {
            Ok(shared) => Place::Shared(shared.twin()?),
            Err(error) => match self.installed.constant(table) {
                Some(_) => Place::Constant(Vec::new()),
                None => match self.installed.any_table(table)? {
                    AnyTable::OfObject(table) => return Err(table.no_list()),
                    AnyTable::Shared(_) => return Err(error.into()),
                },
            },
        };
        self.lists.insert(client, List { table: table.to_string(), entries: 0, place });
        Ok(())
    }

    /// Adds to the client's list. If anything is wrong with an entry, the list is forgotten.
    ///
    /// # Errors
    /// `NoList`; `NoDatum`, `Control` for what the table cannot take.
    pub(crate) fn add_to_list(
        &mut self,
        client: ClientId,
        table: &str,
        entries: &[(Value, Value)],
        keys: &[Value],
    ) -> Result<usize, SessionError> {
        let mut list = self.take_list(client, table)?;
        let entries = data(entries, keys)?;
        let count = entries.len();
        match &mut list.place {
            Place::Shared(table) => drop(table.load(entries)?),
            Place::Constant(all) => all.extend(entries),
        }
        list.entries += count as u64;
        self.lists.insert(client, list);
        Ok(count)
    }

    /// What the client's list is to bring about.
    ///
    /// # Errors
    /// `NoList`.
    pub(crate) fn finish_list(&mut self, client: ClientId, table: &str) -> Result<Wanted, SessionError> {
        let List { table, entries, place } = self.take_list(client, table)?;
        Ok(match place {
            Place::Shared(list) => Wanted::List { table, list, entries },
            Place::Constant(list) => Wanted::Constant { content: Content { table, entries: list }, entries },
        })
    }

    /// After a reload: lists go on that are for a table which is still there, in the same schema.
    pub(crate) fn keep_lists(&mut self) {
        let installed = &self.installed;
        self.lists.retain(|_, list| match &list.place {
            Place::Shared(twin) => is_like(installed, &list.table, twin),
            Place::Constant(_) => installed.constant(&list.table).is_some(),
        });
    }

    fn take_list(&mut self, client: ClientId, table: &str) -> Result<List, SessionError> {
        let list = self.lists.remove(&client).filter(|list| list.table == table);
        list.ok_or_else(|| SessionError::NoList { table: table.to_string() })
    }
}

/// Whether the present program has a table of that name in whose place `twin` can be put.
pub fn is_like(installed: &Installed, table: &str, twin: &SharedTable) -> bool {
    let present = installed.table(table);
    present
        .is_ok_and(|present| (present.schema(), present.map().name()) == (twin.schema(), twin.map().name()))
}

/// The entries, and behind them the keys whose value is true.
///
/// # Errors
/// `NoDatum`.
pub fn data(entries: &[(Value, Value)], keys: &[Value]) -> Result<Vec<(Datum, Datum)>, SessionError> {
    let entry = |(key, value): &(Value, Value)| Ok((from_json(key)?, from_json(value)?));
    let key = |key: &Value| Ok((from_json(key)?, Datum::Boolean(true)));
    entries.iter().map(entry).chain(keys.iter().map(key)).collect()
}
