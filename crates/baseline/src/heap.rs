//! Load-time objects in the image: tables, closures, variables, records of functions.

use super::General;
use super::counts::Counts;
use super::reach;
use moonhook_runtime::image::{TableContent, write_table};
use moonhook_runtime::layout::*;
use moonhook_runtime::{Function, find_function};
use moonhook_snapshot::{CellId, ClosureId, TableId, Value};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A part of the library that scripts get as a value: the iterator of `ipairs`.
const ITERATOR: &str = "prim.ipairs_general";

/// Places for fields in all tables together, at most, that are there in case they are assigned.
const MOST_PLACES: usize = 10_000;

/// An object of the image that has its address, and what is still to be written of it.
pub enum Pending {
    Entries(TableId),
    Variables(ClosureId),
}

impl General<'_> {
    /// A load-time value as it stands in arena memory.
    pub fn constant(&mut self, value: &Value) -> (i64, u64) {
        match value {
            Value::Nil => (TAG_NIL, 0),
            Value::Boolean(false) => (TAG_FALSE, 0),
            Value::Boolean(true) => (TAG_TRUE, 0),
            Value::Integer(integer) => (TAG_INT, *integer as u64),
            Value::Float(float) => (TAG_FLOAT, float.to_bits()),
            Value::String(text) => (TAG_STRING, self.image.text(text)),
            Value::Table(table) => (TAG_TABLE, self.table(*table)),
            Value::Closure(closure) => (TAG_CLOSURE, self.closure(*closure)),
            Value::Builtin(name) => self.builtin(name),
            Value::Opaque(name, number) => (TAG_OPAQUE, self.opaque(name, *number)),
        }
    }

    /// The address that stands for an object which packet code can only pass around; there is the name of its type.
    fn opaque(&mut self, name: &str, number: u32) -> u64 {
        if let Some(known) = self.opaque.get(&number) {
            return *known;
        }
        let name = self.image.text(name.as_bytes());
        let address = self.image.words(&[name]);
        self.opaque.insert(number, address);
        address
    }

    /// The function value of a library function.
    pub fn builtin(&mut self, name: &str) -> (i64, u64) {
        if let Some(known) = self.builtins.get(name) {
            return *known;
        }
        let value = match find_function(name) {
            Some(Function::Lua) => {
                let Some(function) = self.functions.of_library(name) else {
                    self.fail_internally(&format!("`{name}` is not in the library"));
                    return (TAG_NIL, 0);
                };
                let record = self.prototype_record(function);
                let closure = self.image.words(&[record, 1, 0]);
                (TAG_CLOSURE, closure)
            }
            Some(Function::Frames(number)) => (TAG_BUILTIN, number),
            _ => {
                self.builtin_names.push(name.to_string());
                (TAG_BUILTIN, self.builtin_names.len() as u64 - 1)
            }
        };
        self.builtins.insert(name.to_string(), value);
        value
    }

    /// The address of a table; its contents follow with [`General::finish_objects`].
    fn table(&mut self, id: TableId) -> u64 {
        if let Some(known) = self.tables.get(&id) {
            return *known;
        }
        let snapshot = self.functions.snapshot;
        let array = if self.shared.is_shared(id) { 0 } else { snapshot.table(id).array.len() };
        let count = self.entries(id).len() + self.missing(id).len();
        let size = moonhook_runtime::image::table_size(array, count);
        let address = self.image.reserve(size);
        self.tables.insert(id, address);
        self.pending_objects.push(Pending::Entries(id));
        address
    }

    /// Writes the objects whose addresses have been given out, and those that they refer to: a graph of objects can be of any
    /// depth.
    pub fn finish_objects(&mut self) {
        while let Some(pending) = self.pending_objects.pop() {
            match pending {
                Pending::Entries(id) => self.write_entries(id),
                Pending::Variables(id) => self.write_closure(id),
            }
        }
    }

    /// Writes the content of a table, which has its address.
    fn write_entries(&mut self, id: TableId) {
        let snapshot = self.functions.snapshot;
        if self.shared.is_shared(id) {
            let content = self.shared_content(id);
            self.write_table(self.tables[&id], &content);
            return;
        }
        let table = snapshot.table(id);
        let entries = self.entries(id);
        let variables = self.variables_of(id);
        let value = |general: &mut Self, key: &Value, value: &Value| {
            let variable = text(key).and_then(|name| variables.get(name));
            variable.map_or_else(|| general.constant(value), |variable| (TAG_VARIABLE, *variable))
        };
        let mut entries: Vec<_> =
            entries.iter().map(|(k, v)| (self.constant(k), self.key_hash(k), value(self, k, v))).collect();
        for name in self.missing(id) {
            entries.push(self.missing_entry(&name));
        }
        let content = TableContent {
            array: table.array.iter().map(|value| self.constant(value)).collect(),
            entries,
            metatable: table.metatable.map_or(0, |meta| self.table(meta)),
            flags: 0,
        };
        self.write_table(self.tables[&id], &content);
    }

    /// Puts a table at an address that was reserved for it.
    pub fn write_table(&mut self, address: u64, content: &TableContent) {
        let bytes = write_table(address, content);
        self.image.bytes[address as usize..address as usize + bytes.len()].copy_from_slice(&bytes);
    }

    fn key_hash(&mut self, key: &Value) -> u64 {
        match key {
            Value::String(text) => moonhook_runtime::text_hash(text),
            other => {
                let (tag, payload) = self.constant(other);
                moonhook_runtime::value_hash(tag, payload)
            }
        }
    }

    fn closure(&mut self, id: ClosureId) -> u64 {
        if let Some(known) = self.closures.get(&id) {
            return *known;
        }
        let closure = self.functions.snapshot.closure(id);
        let count = closure.upvalues.len();
        let address = self.image.reserve(C_VARIABLES as usize + 8 * count);
        self.closures.insert(id, address);
        let record = self.prototype_record(closure.prototype.index());
        self.image.put(address + C_PROTO as u64, record);
        self.image.put(address + C_COUNT as u64, count as u64);
        self.pending_objects.push(Pending::Variables(id));
        address
    }

    /// Writes the variables of a closure, which has its address.
    fn write_closure(&mut self, id: ClosureId) {
        let address = self.closures[&id];
        for (index, cell) in self.functions.snapshot.closure(id).upvalues.iter().enumerate() {
            let variable = self.variable(*cell);
            self.image.put(address + C_VARIABLES as u64 + 8 * index as u64, variable);
        }
    }

    /// The variable (`U_…`) that a closure has.
    fn variable(&mut self, id: CellId) -> u64 {
        if let Some(known) = self.cells.get(&id) {
            return *known;
        }
        let address = self.image.reserve((U_VALUE + V_SIZE) as usize);
        self.cells.insert(id, address);
        let place = address + U_VALUE as u64;
        self.image.put(address + U_PLACE as u64, place);
        let value = self.constant(&self.functions.snapshot.cell(id).value);
        self.put_variable(place, value, self.sums.cells.contains(&id));
        address
    }

    /// The entries of a table that are in the program. Global variables and fields that packet code assigns have a place from the start.
    pub fn entries(&self, id: TableId) -> Vec<(Value, Value)> {
        if self.shared.is_shared(id) {
            return Vec::new();
        }
        let snapshot = self.functions.snapshot;
        let array = snapshot.table(id).array.len();
        let mut entries: Vec<(Value, Value)> =
            reach::present(snapshot, id, &self.reach.mentions).into_iter().skip(array).collect();
        let every = reach::is_globals(snapshot, id)
            || reach::has_variables(snapshot, id) && self.every_name_has_a_place();
        let names: BTreeSet<Arc<[u8]>> = match every {
            true => self.reach.assigned_names.iter().cloned().collect(),
            false => self.shared.assigned_fields(id).collect(),
        };
        let there: HashSet<&[u8]> = entries.iter().filter_map(|(key, _)| text(key)).collect();
        let names = names.into_iter().filter(|name| !there.contains(&**name));
        let names: Vec<Value> = names.map(Value::String).collect();
        entries.extend(names.into_iter().map(|name| (name, Value::Nil)));
        entries
    }

    /// Whether all tables of load time have a place for each name that packet code assigns, where they are few: not only those that
    /// are found to be assigned a field of that name.
    fn every_name_has_a_place(&self) -> bool {
        self.reach.tables.len() * self.reach.assigned_names.len() <= MOST_PLACES
    }

    /// The names in the table that are not in the program, and get no place by an assignment.
    fn missing(&self, id: TableId) -> Vec<Arc<[u8]>> {
        if self.shared.is_shared(id) {
            return Vec::new();
        }
        let snapshot = self.functions.snapshot;
        let mut names = reach::missing(snapshot, id, &self.reach.mentions);
        names.retain(|name| !self.reach.is_assigned(snapshot, id, name));
        names
    }

    /// What stands in a table for a name that is not in the program.
    pub fn missing_entry(&mut self, name: &[u8]) -> ((i64, u64), u64, (i64, u64)) {
        ((TAG_STRING, self.image.text(name)), moonhook_runtime::text_hash(name), (TAG_MISSING, 0))
    }

    /// The record of a function (`P_…`); its entry follows when its code is made.
    pub fn prototype_record(&mut self, function: usize) -> u64 {
        if let Some(known) = self.records.get(&function) {
            return *known;
        }
        let prototype = self.functions.get(function);
        let captures = &prototype.upvalues;
        // Functions of the library that only other ones of it name are not among those that are known to be reached.
        self.counts.entry(function).or_insert_with(|| Counts::new(prototype).into());
        let address = self.image.reserve(P_CAPTURES as usize + 8 * captures.len());
        self.records.insert(function, address);
        let name = self.traceback_name(function);
        let hidden = self.hidden_kind(function);
        let fields = [
            (P_PARAMS, u64::from(prototype.parameters)),
            (P_STACK, 16 * (u64::from(prototype.stack_size) + 8)),
            (P_HIDDEN, hidden as u64),
            (P_NAME, name),
            (P_UPVALUES, captures.len() as u64),
        ];
        for (offset, word) in fields {
            self.image.put(address + offset as u64, word);
        }
        for (index, capture) in captures.iter().enumerate() {
            let word = u64::from(capture.index) | if capture.in_stack { 0x100 } else { 0 };
            self.image.put(address + P_CAPTURES as u64 + 8 * index as u64, word);
        }
        self.uncompiled.push(function);
        address
    }

    /// What the function is in the library (`HIDDEN_…`); 0 if it is one of the script's.
    fn hidden_kind(&self, function: usize) -> i64 {
        match self.functions.library_name(function) {
            _ if !self.functions.is_hidden(function) => 0,
            Some(name) if name.starts_with("prim.") && name != ITERATOR => HIDDEN_PART,
            _ => HIDDEN_FUNCTION,
        }
    }

    fn traceback_name(&mut self, function: usize) -> u64 {
        if let Some(name) = self.functions.library_name(function) {
            return self.image.text(super::library::global_name(name).as_bytes());
        }
        let prototype = self.functions.get(function);
        let snapshot = self.functions.snapshot;
        let file = match prototype.source {
            Some(source) if !self.functions.is_hidden(function) => {
                moonhook_snapshot::short_name(&snapshot.source(source).name)
            }
            _ => "?".to_string(),
        };
        self.image.text(format!("function <{file}:{}>", prototype.line_defined).as_bytes())
    }
}

/// The text that a key is.
pub fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
