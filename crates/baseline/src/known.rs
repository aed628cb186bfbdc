//! What is known of a register within a block: values of load time that cannot change.

use super::General;
use super::reach;
use moonhook_snapshot::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// An integer, whichever.
    Integer,
    /// A value of load time.
    Value(Value),
    /// A table of the library, as library functions written in Lua see it.
    Library(String),
    /// A library function by its canonical name.
    Builtin(String),
}

impl General<'_> {
    /// Whether an upvalue is surely a variable of the packet's own.
    pub fn is_of_packet(&self, function: usize, upvalue: usize) -> bool {
        !self.reach.may_be_of_load_time(&self.functions, function, upvalue)
    }

    /// Whether an upvalue is surely a variable of load time.
    pub fn is_shared(&self, function: usize, upvalue: usize) -> bool {
        self.reach.is_of_load_time(&self.functions, function, upvalue)
    }

    /// What an upvalue holds, if that is known.
    pub fn known_upvalue(&self, function: usize, upvalue: usize) -> Option<Known> {
        if self.functions.is_hidden(function) {
            let name = &self.functions.get(function).upvalues.get(upvalue)?.name;
            return (name == "_ENV").then(|| Known::Library(String::new()));
        }
        let cell = self.reach.fixed_upvalue(function, upvalue)?;
        Some(Known::Value(self.functions.snapshot.cell(cell).value.clone()))
    }

    /// `object[name]`, where that is a load-time value that cannot change.
    pub fn known_field(&self, object: Option<&Known>, name: &[u8]) -> Option<Known> {
        let snapshot = self.functions.snapshot;
        match object? {
            Known::Library(library) => {
                let name = String::from_utf8_lossy(name);
                let full = if library.is_empty() { name.to_string() } else { format!("{library}.{name}") };
                if super::library::is_table(&full) {
                    return Some(Known::Library(full));
                }
                Some(Known::Builtin(full))
            }
            Known::Value(Value::Table(table)) => {
                if self.shared.is_shared(*table) || self.reach.is_assigned(snapshot, *table, name) {
                    return None;
                }
                match snapshot.table(*table).field(name)? {
                    Value::Builtin(name) if reach::is_library(snapshot, *table) => {
                        Some(Known::Builtin(name.to_string()))
                    }
                    value => Some(Known::Value(value.clone())),
                }
            }
            _ => None,
        }
    }
}
