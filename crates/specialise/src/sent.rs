//! Tables as events carry them: the fields of tables of load time, of those made at packet time and of entries of shared
//! tables, all seen alike. What metatables say does not matter.

use crate::context::{Context, Result};
use crate::fields::Key;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Object, Str};
use crate::variables::known::{VariableId, Variables};
use moonhook_snapshot::{Snapshot, TableId, Value};
use std::sync::Arc;

impl Context<'_> {
    /// The names of the fields that a table may have, in order; none of what is no table.
    pub fn record_names(&mut self, record: &Abs) -> Result<Vec<Arc<[u8]>>> {
        match record {
            Abs::Entry { path, base } => self.entry_names(*path, *base),
            Abs::Object(Object::Made(made)) => {
                let names = self.state.made_keys(*made).into_iter().filter_map(|key| match key {
                    Key::Text(name) => Some(name),
                    _ => None,
                });
                Ok(names.collect())
            }
            Abs::Object(Object::Table(table)) => {
                Ok(self.known.variables.names_of_table(self.snapshot, *table))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The field of that name, with one arm for each way of getting it.
    pub fn record_field(&mut self, record: &Abs, name: &Arc<[u8]>) -> Result<Vec<Arm>> {
        match record {
            Abs::Entry { path, base } => self.read_entry(*path, *base, &Abs::Str(Str::Const(name.clone()))),
            Abs::Object(Object::Made(made)) => {
                let value = self.state.made_field(*made, &Key::Text(name.clone()));
                self.only(value)
            }
            Abs::Object(Object::Table(table)) => {
                let value = self.field_of_table(*table, name);
                self.only(value)
            }
            _ => self.only(Abs::Nil),
        }
    }

    /// A field of a table of load time, by a constant name.
    pub fn field_of_table(&mut self, table: TableId, name: &Arc<[u8]>) -> Abs {
        self.read_assigned(&VariableId::Field(table, name.clone())).unwrap_or_else(|| {
            let value = crate::tables::raw_get(self.snapshot, table, &Value::String(name.clone()));
            Abs::of_load_time(self.snapshot, &value)
        })
    }
}

impl State {
    /// The keys that a table made at packet time may have, in order.
    pub fn made_keys(&self, made: u32) -> Vec<Key> {
        let Some(known) = self.tables.get(&made) else { return Vec::new() };
        let keys = known.fields.keys().filter(|key| self.made_field(made, key) != Abs::Nil);
        keys.cloned().collect()
    }
}

impl Variables {
    fn names_of_table(&self, snapshot: &Snapshot, table: TableId) -> Vec<Arc<[u8]>> {
        let entries = snapshot.table(table).entries.iter().filter_map(|(key, _)| match key {
            Value::String(name) => Some(Arc::from(name.as_ref())),
            _ => None,
        });
        let mut names: Vec<Arc<[u8]>> = entries.chain(self.fields_of(table)).collect();
        names.sort();
        names.dedup();
        names
    }
}
