//! Tables of load time that functions assign or read by key, as far as the bytecode tells which tables these are.

use super::reach::Reach;
use super::script::Functions;
use moonhook_ir::Loc;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, TableId, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Instructions that are followed back to find what a register holds, at most: `a.b.c` takes three.
const DEPTH: usize = 64;

/// What the reachable functions of the script do with tables of load time.
#[derive(Default)]
pub struct Stores {
    /// Tables that are assigned by a key that is no constant name, and where first.
    pub by_key: BTreeMap<TableId, Loc>,
    /// The functions that do that.
    pub assigners: BTreeSet<(TableId, usize)>,
    /// Tables that are used in any way, and where first.
    pub used: BTreeMap<TableId, Loc>,
    /// Fields with constant names that are assigned.
    pub fields: BTreeSet<(TableId, Arc<[u8]>)>,
}

impl Stores {
    pub fn new(functions: &Functions<'_>, reach: &Reach) -> Stores {
        let mut stores = Stores::default();
        for index in reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index)) {
            let tables = Tables::new(functions, reach, index);
            for pc in 0..tables.prototype.code.len() {
                stores.instruction(&tables, pc);
            }
        }
        stores
    }

    fn instruction(&mut self, tables: &Tables<'_, '_>, pc: usize) {
        use Opcode::*;
        let i = Instruction(tables.prototype.code[pc]);
        let (table, by_key) = match i.opcode() {
            Some(SetTable | SetI) => (tables.in_register(pc, i.a()), true),
            Some(SetField) => (tables.in_register(pc, i.a()), false),
            Some(GetTable | GetI | GetField | Self_ | Len) => (tables.in_register(pc, i.b()), false),
            Some(SetTabUp) => (tables.in_upvalue(i.a()), false),
            Some(GetTabUp) => (tables.in_upvalue(i.b()), false),
            _ => return,
        };
        let Some(table) = table else { return };
        if let (Some(SetField | SetTabUp), Some(Value::String(name))) =
            (i.opcode(), tables.prototype.constants.get(i.b()))
        {
            self.fields.insert((table, name.clone()));
        }
        let loc = tables.loc(pc);
        self.used.entry(table).or_insert(loc);
        if by_key {
            self.by_key.entry(table).or_insert(loc);
            self.assigners.insert((table, tables.index));
        }
    }
}

/// A function, and what its registers hold.
pub struct Tables<'f, 'a> {
    functions: &'f Functions<'a>,
    reach: &'f Reach,
    index: usize,
    prototype: &'a Prototype,
}

impl<'f, 'a> Tables<'f, 'a> {
    pub fn new(functions: &'f Functions<'a>, reach: &'f Reach, index: usize) -> Tables<'f, 'a> {
        Tables { functions, reach, index, prototype: functions.get(index) }
    }

    pub fn loc(&self, pc: usize) -> Loc {
        let source = self.prototype.source.map_or(0, |source| source.0 as u16);
        Loc { source, line: self.prototype.lines.get(pc).copied().unwrap_or(0) }
    }

    /// The table of load time that a variable from outside of the function surely is.
    pub fn in_upvalue(&self, upvalue: usize) -> Option<TableId> {
        table(self.value_in_upvalue(upvalue)?)
    }

    /// The table of load time that a register surely holds at an instruction.
    pub fn in_register(&self, pc: usize, register: usize) -> Option<TableId> {
        table(&self.value_in_register(pc, register)?)
    }

    fn value_in_upvalue(&self, upvalue: usize) -> Option<&'a Value> {
        let cell = self.reach.fixed_upvalue(self.index, upvalue)?;
        Some(&self.functions.snapshot.cell(cell).value)
    }

    /// The value of load time that a register surely holds at an instruction.
    pub fn value_in_register(&self, pc: usize, register: usize) -> Option<Value> {
        self.value_after(pc, register, DEPTH)
    }

    /// The same, by so many more instructions at most.
    fn value_after(&self, pc: usize, register: usize, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        let setter = self.functions.only_setter(self.index, pc, register)?;
        let i = Instruction(self.prototype.code[setter]);
        match i.opcode()? {
            Opcode::Move => self.value_after(setter, i.b(), depth),
            Opcode::GetUpval => self.value_in_upvalue(i.b()).cloned(),
            Opcode::GetTabUp => self.field(self.in_upvalue(i.b())?, i.c()).cloned(),
            Opcode::GetField => {
                let owner = table(&self.value_after(setter, i.b(), depth)?)?;
                self.field(owner, i.c()).cloned()
            }
            _ => None,
        }
    }

    /// The value in a field, by the number of the constant that is the field's name.
    fn field(&self, owner: TableId, name: usize) -> Option<&'a Value> {
        let Some(Value::String(name)) = self.prototype.constants.get(name) else { return None };
        let snapshot = self.functions.snapshot;
        if self.reach.is_assigned(snapshot, owner, name) {
            return None;
        }
        snapshot.table(owner).field(name)
    }
}

fn table(value: &Value) -> Option<TableId> {
    match value {
        Value::Table(table) => Some(*table),
        _ => None,
    }
}
