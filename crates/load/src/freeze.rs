//! Builds the snapshot: goes from the handlers through closures, their variables, tables and metatables.
//!
//! Reads the Lua state; changes nothing in it. Guarantees that an object is met once, that objects are numbered in the
//! order of a breadth-first search, and that equal functions (same source, lines and code) are one prototype.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};
use moonhook_library::standard::STRING;
use moonhook_snapshot::{
    Cell, CellId, Closure, ClosureId, Handler, PrototypeId, Source, SourceId, TableId, Value as Frozen,
};

use crate::chunk;
use crate::error::LoadError;
use crate::flows::Flows;
use crate::names::Names;
use crate::registry::Declared;
use crate::registry::Registration;
use crate::table_order::{self, Element, Entries};
use crate::upvalues::{Variable, variables};

mod base;
mod known;

pub use base::Base;
pub(crate) use known::{Known, Numbered};

/// Gives the text of a file, or of what else was run, by its name.
pub type TextOf<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The snapshot of what `handlers` reach.
pub(crate) fn freeze(
    lua: &Lua,
    script: String,
    handlers: &[Registration],
    (names, declared): (&Names, &Declared),
    flows: &Flows,
    texts: TextOf<'_>,
) -> Result<Known, LoadError> {
    let mut known = Known::new(lua).map_err(state_error)?;
    let mut freezer = Freezer { lua, names, declared, texts, known: &mut known };
    freezer.known.snapshot.script = script;
    for registration in handlers {
        let closure = freezer.closure(&registration.function).map_err(state_error)?;
        let written = match &registration.written {
            Some(written) => freezer.closure(written).map_err(state_error)?,
            None => closure,
        };
        freezer.known.snapshot.handlers.push(Handler { point: registration.point.clone(), closure, written });
    }
    freezer.run()?;
    freezer.flow_tables(flows).map_err(state_error)?;
    freezer.run()?;
    freezer.methods_of_strings().map_err(state_error)?;
    freezer.run()?;
    Ok(known)
}

/// An object that has its number and waits for its content. Tables of the Lua state hold them by their numbers: there may be more of
/// them than there can be handles.
enum Pending {
    Closure(ClosureId),
    /// With its name.
    Cell(CellId, String),
    Table(TableId),
}

struct Freezer<'a> {
    lua: &'a Lua,
    names: &'a Names,
    declared: &'a Declared,
    texts: TextOf<'a>,
    known: &'a mut Known,
}

impl Freezer<'_> {
    fn run(&mut self) -> Result<(), LoadError> {
        while let Some(pending) = self.known.queue.pop_front() {
            match pending {
                Pending::Closure(id) => {
                    let function = self.known.by_closure.raw_get(place(id.0)).map_err(state_error)?;
                    self.fill_closure(id, &function)?;
                }
                Pending::Cell(id, name) => {
                    let value: Value = self.known.by_value.raw_get(place(id.0)).map_err(state_error)?;
                    // Variables of Moonhook's own Lua have none.
                    let named = || Some(name).filter(|name| !name.is_empty());
                    let value = self.value(&value, named).map_err(state_error)?;
                    self.known.snapshot.cells[id.index()].value = value;
                }
                Pending::Table(id) => {
                    let table = self.known.by_number.raw_get(place(id.0)).map_err(state_error)?;
                    self.fill_table(id, &table)?;
                }
            }
        }
        Ok(())
    }

    /// The snapshot's form of a value; `name` is what a table would be called that is met here first.
    fn value(&mut self, value: &Value, name: impl FnOnce() -> Option<String>) -> mlua::Result<Frozen> {
        Ok(match value {
            Value::Nil => Frozen::Nil,
            Value::Boolean(boolean) => Frozen::Boolean(*boolean),
            Value::Integer(integer) => Frozen::Integer(*integer),
            Value::Number(float) => Frozen::Float(*float),
            Value::String(string) => Frozen::string(string.as_bytes()),
            Value::Table(table) => Frozen::Table(self.table(table, name)?),
            Value::Function(function) => self.function(value, function)?,
            Value::Thread(_) => self.opaque("thread", value),
            _ => self.opaque("userdata", value),
        })
    }

    /// Notes the flow tables with their functions, and what functions that come later may have in common with handlers: global variables.
    fn flow_tables(&mut self, flows: &Flows) -> mlua::Result<()> {
        if flows.is_empty() {
            return Ok(());
        }
        self.known.snapshot.flows = flows.described();
        for table in 0..self.known.snapshot.flows.len() {
            for function in flows.functions(table) {
                let closure = self.closure(&function)?;
                self.known.snapshot.flows[table].functions.push(closure);
            }
        }
        for globals in flows.globals() {
            self.table(&globals, || Some("_G".to_string()))?;
        }
        Ok(())
    }

    /// Notes the table in which methods of strings are found, if it is not as the library has it.
    fn methods_of_strings(&mut self) -> mlua::Result<()> {
        let index: Option<Table> = match self.lua.type_metatable::<mlua::LuaString>() {
            Some(metatable) => metatable.raw_get("__index")?,
            None => None,
        };
        let Some(table) = index else { return Ok(()) };
        let mut own = 0;
        let mut others = 0;
        table.for_each(|key: mlua::LuaString, value: Value| {
            let known = match &value {
                Value::Function(function) => self.names.function(function),
                _ => None,
            };
            let name = format!("string.{}", key.to_string_lossy());
            *(if known == Some(&*name) { &mut own } else { &mut others }) += 1;
            Ok(())
        })?;
        if others > 0 || own < STRING.functions.len() {
            self.known.snapshot.strings = Some(self.table(&table, || None)?);
        }
        Ok(())
    }

    /// What packet code can only pass around.
    fn opaque(&mut self, kind: &'static str, value: &Value) -> Frozen {
        let next = self.known.opaque.len() as u32;
        let number = *self.known.opaque.entry(value.to_pointer()).or_insert(next);
        if number == next {
            self.known.added.opaque.push(value.to_pointer());
        }
        Frozen::Opaque(kind, number)
    }

    fn function(&mut self, value: &Value, function: &Function) -> mlua::Result<Frozen> {
        if let Some(name) = self.names.function(function) {
            return Ok(Frozen::Builtin(name));
        }
        if !self.known.closures.contains_key(&function.to_pointer()) && function.info().what == "C" {
            return Ok(self.opaque("function", value));
        }
        Ok(Frozen::Closure(self.closure(function)?))
    }

    fn closure(&mut self, function: &Function) -> mlua::Result<ClosureId> {
        let next = ClosureId(self.known.snapshot.closures.len() as u32);
        match self.known.closures.entry(function.to_pointer()) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(entry) => {
                self.known.by_closure.raw_set(place(next.0), function)?;
                self.known.added.closures.push(function.to_pointer());
                self.known
                    .snapshot
                    .closures
                    .push(Closure { prototype: PrototypeId(0), upvalues: Vec::new() });
                self.known.queue.push_back(Pending::Closure(next));
                Ok(*entry.insert(next))
            }
        }
    }

    fn table(&mut self, table: &Table, name: impl FnOnce() -> Option<String>) -> mlua::Result<TableId> {
        let next = TableId(self.known.snapshot.tables.len() as u32);
        match self.known.tables.entry(table.to_pointer()) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(entry) => {
                self.known.by_number.raw_set(place(next.0), table)?;
                self.known.added.tables.push(table.to_pointer());
                let of_library = self.names.table(table).map(str::to_owned);
                let is_library = of_library.is_some();
                let name = of_library.or_else(name);
                self.known.snapshot.tables.push(moonhook_snapshot::Table {
                    name,
                    is_library,
                    ..Default::default()
                });
                self.known.queue.push_back(Pending::Table(next));
                Ok(*entry.insert(next))
            }
        }
    }

    fn cell(&mut self, variable: Variable, name: &str) -> mlua::Result<CellId> {
        let next = CellId(self.known.snapshot.cells.len() as u32);
        match self.known.cells.entry(variable.identity) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(entry) => {
                self.known.by_value.raw_set(place(next.0), variable.value)?;
                self.known.added.cells.push(variable.identity);
                self.known.snapshot.cells.push(Cell { value: Frozen::Nil });
                self.known.queue.push_back(Pending::Cell(next, name.to_owned()));
                Ok(*entry.insert(next))
            }
        }
    }

    fn fill_closure(&mut self, id: ClosureId, function: &Function) -> Result<(), LoadError> {
        let prototype = self.prototype(function)?;
        let mut upvalues = Vec::new();
        for (index, variable) in variables(self.lua, function).map_err(state_error)?.into_iter().enumerate() {
            let described = self.known.snapshot.prototype(prototype).upvalues.get(index);
            let name = described.map(|upvalue| upvalue.name.clone()).unwrap_or_default();
            let known = self.known.snapshot.cells.len();
            let cell = self.cell(variable, &name).map_err(state_error)?;
            if cell.index() == known {
                self.known.by_cell.raw_set(2 * known + 1, function).map_err(state_error)?;
                self.known.by_cell.raw_set(2 * known + 2, index + 1).map_err(state_error)?;
            }
            upvalues.push(cell);
        }
        self.known.snapshot.closures[id.index()] = Closure { prototype, upvalues };
        Ok(())
    }

    fn fill_table(&mut self, id: TableId, table: &Table) -> Result<(), LoadError> {
        let holder = self.known.snapshot.table(id).name.clone();
        let Entries { array: elements, keyed, objects } = table_order::entries(table).map_err(state_error)?;
        let mut array = Vec::with_capacity(elements.len());
        for (element, index) in elements.into_iter().zip(1..) {
            array.push(self.element(table, &Frozen::Integer(index), element, || None).map_err(state_error)?);
        }
        let mut entries = Vec::with_capacity(keyed.len() + objects);
        for (key, element) in keyed {
            let name = || field_name(holder.as_deref(), &key);
            let value = self.element(table, &key, element, name).map_err(state_error)?;
            entries.push((key, value));
        }
        let mut by_object = Vec::with_capacity(objects);
        if objects > 0 {
            let visited = table_order::each_object(table, |key, value| {
                by_object.push((self.value(key, || None)?, self.value(value, || None)?));
                Ok(())
            });
            visited.map_err(state_error)?;
        }
        by_object.sort_by(|(a, _), (b, _)| table_order::compare_objects(a, b));
        entries.append(&mut by_object);
        let metatable = table.metatable().map(|metatable| self.table(&metatable, || None));
        let metatable = metatable.transpose().map_err(state_error)?;
        let frozen = &mut self.known.snapshot.tables[id.index()];
        (frozen.array, frozen.entries, frozen.metatable) = (array, entries, metatable);
        frozen.declaration = self.declared.of(table);
        Ok(())
    }

    /// The value that a table has for a key.
    fn element(
        &mut self,
        table: &Table,
        key: &Frozen,
        element: Element,
        name: impl FnOnce() -> Option<String>,
    ) -> mlua::Result<Frozen> {
        match element {
            Element::Plain(value) => Ok(value),
            Element::Object => self.value(&table_order::get(table, key)?, name),
        }
    }

    fn prototype(&mut self, function: &Function) -> Result<PrototypeId, LoadError> {
        let bytes = function.dump(false);
        if let Some(&known) = self.known.chunks.get(&bytes) {
            return Ok(known);
        }
        let read = chunk::read(&bytes).map_err(|error| LoadError::Chunk { reason: error.to_string() })?;
        let id = self.unify(read);
        self.known.added.chunks.push(bytes.clone());
        self.known.chunks.insert(bytes, id);
        Ok(id)
    }

    /// The prototype for a function of a chunk: an equal one that is known, or a new one. Those inside come first, so
    /// that equality of parents is equality of numbers.
    fn unify(&mut self, mut function: chunk::Function) -> PrototypeId {
        let inner = std::mem::take(&mut function.functions);
        let prototypes = inner.into_iter().map(|inner| self.unify(inner)).collect();
        let source = function.source.take().map(|name| self.source(name));
        let prototype = function.into_prototype(source, prototypes);
        let mut hasher = DefaultHasher::new();
        (prototype.source, prototype.line_defined, prototype.last_line_defined).hash(&mut hasher);
        prototype.code.hash(&mut hasher);
        // There may be many functions on one line that differ in their constants only.
        prototype.constants.iter().for_each(|constant| hash_constant(constant, &mut hasher));
        let hash = hasher.finish();
        let candidates = self.known.prototypes.entry(hash).or_default();
        let all = &mut self.known.snapshot.prototypes;
        if let Some(&known) = candidates.iter().find(|id| all[id.index()] == prototype) {
            return known;
        }
        let id = PrototypeId(all.len() as u32);
        all.push(prototype);
        candidates.push(id);
        self.known.added.prototypes.push(hash);
        id
    }

    /// `@name` is a file, `=name` a name only, anything else the text itself (Lua manual § 4.7, `lua_Debug`).
    fn source(&mut self, name: Arc<[u8]>) -> SourceId {
        if let Some(&known) = self.known.sources.get(&name) {
            return known;
        }
        let shown = String::from_utf8_lossy(&name).into_owned();
        let source = match shown.as_bytes().first() {
            Some(b'@') => {
                let name = &shown[1..];
                Source::new(name, (self.texts)(name).unwrap_or_default())
            }
            Some(b'=') => Source::new(&shown[1..], ""),
            _ => Source::new(crate::locate::text_chunk_name(&shown), shown),
        };
        let id = SourceId(self.known.snapshot.sources.len() as u32);
        self.known.snapshot.sources.push(source);
        self.known.added.sources.push(name.clone());
        self.known.sources.insert(name, id);
        id
    }
}

/// Of what bytecode has as constants: no objects.
fn hash_constant(constant: &Frozen, hasher: &mut DefaultHasher) {
    match constant {
        Frozen::Integer(integer) => integer.hash(hasher),
        Frozen::Float(float) => float.to_bits().hash(hasher),
        Frozen::String(bytes) => bytes.hash(hasher),
        _ => {}
    }
}

/// Where the object of that number is in a table of the Lua state.
fn place(number: u32) -> i64 {
    i64::from(number) + 1
}

fn field_name(holder: Option<&str>, key: &Frozen) -> Option<String> {
    let Frozen::String(bytes) = key else { return None };
    let key = std::str::from_utf8(bytes).ok()?;
    match holder {
        None | Some("_G" | "_ENV") => Some(key.to_owned()),
        // What `require` returned is called by the module's name.
        Some("package.loaded") => Some(key.to_owned()),
        Some(holder) => Some(shortened(format!("{holder}.{key}"))),
    }
}

/// A name that is not longer the deeper a table lies: of a long one, beginning and end are left.
fn shortened(name: String) -> String {
    const MOST: usize = 120;
    const GAP: &str = "...";
    if name.len() <= MOST {
        return name;
    }
    let kept = (MOST - GAP.len()) / 2;
    let start = (0..=kept).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    let end = (name.len() - kept..).find(|at| name.is_char_boundary(*at)).unwrap_or(name.len());
    format!("{}{GAP}{}", &name[..start], &name[end..])
}

fn state_error(error: mlua::Error) -> LoadError {
    LoadError::State { reason: error.to_string() }
}
