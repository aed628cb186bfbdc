//! What is known of a register within a block: values of load time that cannot change.

use super::body::Body;
use super::reach;
use crate::opcode::Instruction;
use moonhook_snapshot::{CellId, Value};

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

impl Body<'_, '_, '_> {
    /// The load-time variable behind an upvalue, if nothing assigns it at packet time.
    pub fn fixed_upvalue(&self, upvalue: usize) -> Option<CellId> {
        let general = &self.unit.general;
        let cell = general.reach.upvalues.get(&self.index)?.get(upvalue).copied().flatten()?;
        (!general.reach.assigned.contains(&cell)).then_some(cell)
    }

    /// Whether an upvalue is surely a variable of the packet's own.
    pub fn is_of_packet(&self, upvalue: usize) -> bool {
        let general = &self.unit.general;
        !general.reach.may_be_of_load_time(&general.functions, self.index, upvalue)
    }

    /// What an upvalue holds, if that is known.
    pub fn known_upvalue(&self, upvalue: usize) -> Option<Known> {
        if self.unit.general.functions.is_hidden(self.index) {
            let name = &self.prototype.upvalues.get(upvalue)?.name;
            return (name == "_ENV").then(|| Known::Library(String::new()));
        }
        let cell = self.fixed_upvalue(upvalue)?;
        Some(Known::Value(self.unit.general.functions.snapshot.cell(cell).value.clone()))
    }

    /// `object[name]`, where that is a load-time value that cannot change.
    pub fn known_field(&self, object: Option<&Known>, name: &[u8]) -> Option<Known> {
        let snapshot = self.unit.general.functions.snapshot;
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
                let general = &self.unit.general;
                if general.shared.is_shared(*table) || general.reach.is_assigned(snapshot, *table, name) {
                    return None;
                }
                let key = Value::string(name);
                let found = snapshot.table(*table).entries.iter().find(|(known, _)| *known == key);
                match found {
                    Some((_, Value::Builtin(name))) if reach::is_library(snapshot, *table) => {
                        Some(Known::Builtin(name.to_string()))
                    }
                    Some((_, value)) => Some(Known::Value(value.clone())),
                    None => None,
                }
            }
            _ => None,
        }
    }

    /// The name of the library function in a register.
    pub fn known_builtin(&self, register: usize) -> Option<String> {
        match self.known.get(&register)? {
            Known::Builtin(name) => Some(name.clone()),
            Known::Value(Value::Builtin(name)) => Some(name.to_string()),
            _ => None,
        }
    }

    /// The constant string of an operand.
    pub fn constant_text(&self, index: usize) -> Option<&[u8]> {
        match self.prototype.constants.get(index) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub fn instruction(&self, pc: usize) -> Instruction {
        Instruction(self.prototype.code.get(pc).copied().unwrap_or(0))
    }
}
