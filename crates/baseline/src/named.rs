//! Functions that packet code calls as far as it can be told: by variables, by names that stand in it, as elements of lists, as
//! metamethods, and those in tables that it indexes by computed names or goes through.
//!
//! General code has all functions in the tables that handlers reach, as any may be found in some way. Those that are none of these are
//! likely to be called at load time alone: constructors that keep what they make, `add` of a list. What they assign does not have to
//! be a map.

use super::reach::{self, Reach};
use super::script::Functions;
use super::stores::Tables;
use moonhook_library::find;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{ClosureId, TableId, Value};
use std::collections::{BTreeSet, HashSet};

struct Named<'f, 'a> {
    functions: &'f Functions<'a>,
    reach: &'f Reach,
    computed: bool,
    found: BTreeSet<usize>,
    /// Constant strings of these functions.
    names: HashSet<&'a [u8]>,
    /// Metatables of tables that these functions call by a variable.
    called: BTreeSet<TableId>,
    /// Tables that are indexed by computed names or gone through, the names of fields that have such, and whether there are others.
    open: BTreeSet<TableId>,
    open_fields: HashSet<&'a [u8]>,
    opens_others: bool,
    /// Tables that are passed to functions.
    passed: BTreeSet<TableId>,
    closures: BTreeSet<ClosureId>,
    tables: BTreeSet<TableId>,
    /// What was met and not looked at yet: a graph of objects can be of any depth.
    pending: Vec<&'a Value>,
    pending_tables: Vec<TableId>,
}

/// The script's functions that packet code calls by what is known of it; with `computed`, those that it may find by a computed name
/// too.
pub fn named(functions: &Functions<'_>, reach: &Reach, computed: bool) -> BTreeSet<usize> {
    let mut named = Named {
        functions,
        reach,
        computed,
        found: BTreeSet::new(),
        names: HashSet::new(),
        called: BTreeSet::new(),
        open: BTreeSet::new(),
        open_fields: HashSet::new(),
        opens_others: false,
        passed: BTreeSet::new(),
        closures: BTreeSet::new(),
        tables: BTreeSet::new(),
        pending: Vec::new(),
        pending_tables: Vec::new(),
    };
    for handler in functions.snapshot.handlers.iter() {
        named.closure(handler.closure);
    }
    loop {
        named.follow();
        let before = named.size();
        for table in named.tables.clone() {
            named.fields(table);
        }
        named.follow();
        if named.size() == before {
            return named.found;
        }
    }
}

impl<'a> Named<'_, 'a> {
    /// How much there is by which fields of tables are found.
    fn size(&self) -> usize {
        let tables = [&self.called, &self.open, &self.passed];
        let tables: usize = tables.iter().map(|tables| tables.len()).sum();
        let others = self.names.len() + self.open_fields.len();
        tables + others + usize::from(self.opens_others)
    }

    /// Looks at all that was met, and at what is met then.
    fn follow(&mut self) {
        while !self.pending.is_empty() || !self.pending_tables.is_empty() {
            match self.pending.pop() {
                Some(Value::Closure(closure)) => self.closure(*closure),
                Some(Value::Table(table)) => self.table(*table),
                _ => {}
            }
            if let Some(table) = self.pending_tables.pop() {
                self.table(table);
            }
        }
    }

    fn table(&mut self, id: TableId) {
        if self.tables.insert(id) {
            self.fields(id);
        }
    }

    fn closure(&mut self, id: ClosureId) {
        if !self.closures.insert(id) {
            return;
        }
        let snapshot = self.functions.snapshot;
        let closure = snapshot.closure(id);
        self.pending.extend(closure.upvalues.iter().map(|cell| &snapshot.cell(*cell).value));
        self.function(closure.prototype.index());
    }

    /// A function and those that it makes.
    fn function(&mut self, index: usize) {
        if !self.found.insert(index) {
            return;
        }
        let prototype = self.functions.get(index);
        self.names.extend(prototype.constants.iter().filter_map(|constant| match constant {
            Value::String(name) => Some(&**name),
            _ => None,
        }));
        let tables = Tables::new(self.functions, self.reach, index);
        for (pc, word) in prototype.code.iter().enumerate() {
            let i = Instruction(*word);
            match i.opcode() {
                Some(Opcode::Call | Opcode::TailCall) => self.call(&tables, index, pc, i),
                Some(Opcode::GetTable) => self.open(&tables, index, pc, i.b()),
                _ => {}
            }
        }
        for n in 0..prototype.prototypes.len() {
            self.function(self.functions.inner(index, n));
        }
    }

    fn call(&mut self, tables: &Tables<'_, 'a>, function: usize, pc: usize, i: Instruction) {
        let called = tables.in_register(pc, i.a());
        self.called.extend(called.and_then(|id| self.functions.snapshot.table(id).metatable));
        match tables.value_in_register(pc, i.a()) {
            Some(Value::Builtin(name)) if find(name).is_some_and(|function| function.reads_any_field) => {
                self.open(tables, function, pc, i.a() + 1);
            }
            // What it gives has methods.
            Some(Value::Builtin("setmetatable")) => {}
            _ => {
                let arguments = i.a() + 1..i.a() + i.b().max(1);
                self.passed.extend(arguments.filter_map(|register| tables.in_register(pc, register)));
            }
        }
    }

    /// Notes that a table in a register is indexed by a computed name, or gone through.
    fn open(&mut self, tables: &Tables<'_, 'a>, function: usize, pc: usize, register: usize) {
        if let Some(table) = tables.in_register(pc, register) {
            self.open.insert(table);
            return;
        }
        let prototype = self.functions.get(function);
        let setter = self.functions.only_setter(function, pc, register);
        let setter = setter.map(|at| Instruction(prototype.code[at]));
        match setter.and_then(|i| Some((i.opcode()?, prototype.constants.get(i.c())))) {
            Some((Opcode::GetField, Some(Value::String(name)))) => {
                self.open_fields.insert(name);
            }
            Some((Opcode::NewTable, _)) => {}
            _ => self.opens_others = true,
        }
    }

    /// What is found in a table by position, by names in the code, or as a metamethod.
    fn fields(&mut self, id: TableId) {
        let snapshot = self.functions.snapshot;
        let table = snapshot.table(id);
        let of_library = reach::is_library(snapshot, id);
        let may_be_others = self.opens_others && self.passed.contains(&id);
        let is_open = self.computed && (may_be_others || self.open.contains(&id));
        let is_found = |(key, value): &&(Value, Value)| match (key, value) {
            (Value::String(name), _) if of_library => self.names.contains(&**name),
            (Value::String(name), Value::Closure(_)) if **name == *b"__call" => self.called.contains(&id),
            (Value::String(name), Value::Closure(_)) => {
                is_open || name.starts_with(b"__") || self.names.contains(&**name)
            }
            _ => true,
        };
        for name in &self.open_fields {
            if let Some(Value::Table(table)) = table.field(name) {
                self.open.insert(*table);
            }
        }
        let entries = table.entries.iter().filter(is_found).map(|(_, value)| value);
        let found: Vec<&Value> =
            table.array.iter().chain(entries).filter(|value| self.is_new(value)).collect();
        self.pending.extend(found);
        let metatable = table.metatable.filter(|id| !self.tables.contains(id));
        self.pending_tables.extend(metatable);
    }

    fn is_new(&self, value: &Value) -> bool {
        match value {
            Value::Closure(closure) => !self.closures.contains(closure),
            Value::Table(table) => !self.tables.contains(table),
            _ => false,
        }
    }
}
