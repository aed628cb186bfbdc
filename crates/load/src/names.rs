//! The canonical names of functions and tables.

use std::collections::HashMap;
use std::ffi::c_void;

use mlua::{Function, Table, Value};
use moonhook_snapshot::Value as Frozen;

use crate::table_order;

/// Canonical names by address. The functions are held so that no address is used twice.
#[derive(Default)]
pub(crate) struct Names {
    functions: HashMap<*const c_void, &'static str>,
    tables: HashMap<*const c_void, String>,
    held: Vec<Value>,
}

impl Names {
    pub fn function(&self, function: &Function) -> Option<&'static str> {
        self.functions.get(&function.to_pointer()).copied()
    }

    pub fn table(&self, table: &Table) -> Option<&str> {
        self.tables.get(&table.to_pointer()).map(String::as_str)
    }

    pub fn add_function(&mut self, name: &'static str, function: Function) {
        self.functions.entry(function.to_pointer()).or_insert(name);
        self.held.push(Value::Function(function));
    }

    /// Tables that modules returned are called by the modules' names. Of several names the first in order counts.
    pub fn add_required(&mut self, loaded: &Table) -> mlua::Result<()> {
        for (key, _) in table_order::entries(loaded)?.keyed {
            if let (Frozen::String(name), Value::Table(table)) = (&key, table_order::get(loaded, &key)?) {
                self.add_table(&String::from_utf8_lossy(name), table);
            }
        }
        Ok(())
    }

    /// The first name of a table counts.
    pub fn add_table(&mut self, name: &str, table: Table) {
        self.tables.entry(table.to_pointer()).or_insert_with(|| name.to_owned());
        self.held.push(Value::Table(table));
    }
}
