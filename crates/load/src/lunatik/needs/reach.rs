//! Which functions a handler can reach, and tables.

use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{CellId, ClosureId, PrototypeId, Snapshot, TableId, Value};
use std::collections::BTreeSet;

/// A function's code, and the variables that it has of load time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    pub prototype: PrototypeId,
    cells: Vec<Option<CellId>>,
}

impl Reached {
    /// The integer that one of its variables is when load time has ended.
    pub fn integer(&self, snapshot: &Snapshot, upvalue: usize) -> Option<i64> {
        match self.variable(snapshot, upvalue)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Which variable of load time that one is, if it is one.
    pub fn cell(&self, upvalue: usize) -> Option<CellId> {
        self.cells.get(upvalue).copied().flatten()
    }

    /// Whether it is that function.
    pub fn is(&self, snapshot: &Snapshot, function: &Value) -> bool {
        let Value::Closure(closure) = function else { return false };
        let closure = snapshot.closure(*closure);
        closure.prototype == self.prototype
            && closure.upvalues.iter().copied().map(Some).eq(self.cells.iter().copied())
    }

    /// What its variables are when load time has ended.
    pub fn variables<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Value> {
        self.cells.iter().flatten().map(|cell| &snapshot.cell(*cell).value)
    }

    /// The same of the one with that number, where it is one of load time.
    pub fn variable<'s>(&self, snapshot: &'s Snapshot, upvalue: usize) -> Option<&'s Value> {
        Some(&snapshot.cell(self.cell(upvalue)?).value)
    }

    /// Whether one of its variables is the table of netfilter's verdicts, or a table with that, or the function reaches it by name.
    pub fn uses_verdicts(&self, snapshot: &Snapshot) -> bool {
        let tables = self.variables(snapshot).filter_map(|value| match value {
            Value::Table(table) => Some(*table),
            _ => None,
        });
        let is = |table| is_verdicts(snapshot, table);
        let has = |table: TableId| {
            snapshot.table(table).values().any(|value| matches!(value, Value::Table(inner) if is(*inner)))
        };
        tables.into_iter().any(|table| is(table) || has(table))
    }
}

/// `DROP` is 0, `ACCEPT` 1 and `QUEUE` 3.
fn is_verdicts(snapshot: &Snapshot, table: TableId) -> bool {
    let field = |name: &[u8]| snapshot.table(table).field(name);
    let is = |name, number| matches!(field(name), Some(Value::Integer(known)) if *known == number);
    is(b"DROP", 0) && is(b"ACCEPT", 1) && is(b"QUEUE", 3)
}

/// What a handler can reach.
pub struct Reach {
    /// The handler first, in the order in which they are found.
    pub functions: Vec<Reached>,
    /// Of load time, but for those of the library.
    pub tables: BTreeSet<TableId>,
}

/// What is known while the functions are looked for.
struct Search<'s> {
    snapshot: &'s Snapshot,
    functions: Vec<Reached>,
    known: BTreeSet<Reached>,
    tables: BTreeSet<TableId>,
    /// What is looked up by name, anywhere.
    names: BTreeSet<&'s [u8]>,
    /// Something is looked up by a key that is no name in the code.
    is_computed: bool,
}

/// What a handler can reach.
pub fn reached(snapshot: &Snapshot, handler: ClosureId) -> Reach {
    let mut search = Search {
        snapshot,
        functions: Vec::new(),
        known: BTreeSet::new(),
        tables: BTreeSet::new(),
        names: BTreeSet::new(),
        is_computed: false,
    };
    search.value(&Value::Closure(handler));
    let mut at = 0;
    loop {
        let before = (search.functions.len(), search.tables.len());
        while let Some(function) = search.functions.get(at).cloned() {
            search.function(&function);
            at += 1;
        }
        search.contents();
        if (search.functions.len(), search.tables.len()) == before {
            return Reach { functions: search.functions, tables: search.tables };
        }
    }
}

impl<'s> Search<'s> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Closure(closure) => {
                let closure = self.snapshot.closure(*closure);
                let cells = closure.upvalues.iter().copied().map(Some).collect();
                self.add(Reached { prototype: closure.prototype, cells });
            }
            Value::Table(table) if !self.snapshot.table(*table).is_library => {
                self.tables.insert(*table);
            }
            _ => {}
        }
    }

    fn add(&mut self, function: Reached) {
        if self.known.insert(function.clone()) {
            self.functions.push(function);
        }
    }

    fn function(&mut self, function: &Reached) {
        let snapshot = self.snapshot;
        let prototype = snapshot.prototype(function.prototype);
        for cell in function.cells.iter().flatten() {
            self.value(&snapshot.cell(*cell).value);
        }
        for word in &prototype.code {
            let i = Instruction(*word);
            match i.opcode() {
                Some(Opcode::GetField | Opcode::Self_ | Opcode::GetTabUp) => {
                    if let Some(Value::String(name)) = prototype.constants.get(i.c()) {
                        self.names.insert(name);
                    }
                }
                Some(Opcode::GetTable | Opcode::GetI | Opcode::TForCall) => self.is_computed = true,
                _ => {}
            }
        }
        for inner in &prototype.prototypes {
            let description = &snapshot.prototype(*inner).upvalues;
            let outer = |index: u8| function.cells.get(usize::from(index)).copied().flatten();
            let cells = description.iter().map(|upvalue| match upvalue.in_stack {
                true => None,
                false => outer(upvalue.index),
            });
            self.add(Reached { prototype: *inner, cells: cells.collect() });
        }
    }

    /// What is in tables under names that are looked up; metatables are looked up whenever their tables are.
    fn contents(&mut self) {
        for table in self.tables.clone() {
            let table = self.snapshot.table(table);
            if let Some(metatable) = table.metatable {
                self.tables.insert(metatable);
                self.snapshot.table(metatable).values().for_each(|value| self.value(value));
            }
            for (key, value) in &table.entries {
                let is_named = matches!(key, Value::String(name) if self.names.contains(&**name));
                if is_named || self.is_computed {
                    self.value(value);
                }
            }
            if self.is_computed {
                table.array.iter().for_each(|value| self.value(value));
            }
        }
    }
}
