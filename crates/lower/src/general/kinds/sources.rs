//! Where the value that an instruction puts into a register comes from.

use super::{Held, Kinds, Use};
use crate::opcode::{Instruction, Opcode};
use crate::protocols;
use crate::shared::{Kind, Seen};
use moonhook_snapshot::{CellId, TableId, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Tables behind `__index`, in a row, at most.
const CHAIN: usize = 8;

impl Kinds<'_, '_> {
    /// What the instruction at `pc` puts into a register.
    pub(super) fn of_definition(&mut self, function: usize, pc: usize, register: usize) -> Held {
        use Opcode::*;
        let i = self.instruction(function, pc);
        let Some(opcode) = i.opcode() else { return Held::default() };
        match opcode {
            LoadI | AddI | AddK | SubK | MulK | ModK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI | Add
            | Sub | Mul | Mod | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot | Len | ForLoop
            | ForPrep => Kind::Integer.into(),
            LoadTrue | LoadFalse | LFalseSkip | Not => Kind::Boolean.into(),
            Concat => Kind::Text.into(),
            LoadK => self.of_constant(function, i.bx()),
            Move | TestSet => self.of_register(function, pc, i.b()),
            Self_ if register == i.a() + 1 => self.of_register(function, pc, i.b()),
            GetUpval => self.of_upvalue(function, i.b()),
            NewTable => self.of_new_table(function, pc).into(),
            GetTabUp => {
                let owner = self.of_upvalue(function, i.b());
                self.of_element(owner, self.prototype(function).constants.get(i.c()))
            }
            GetField | Self_ => {
                let owner = self.of_register(function, pc, i.b());
                self.of_element(owner, self.prototype(function).constants.get(i.c()))
            }
            GetTable | GetI => {
                let owner = self.of_register(function, pc, i.b());
                self.of_element(owner, None)
            }
            Closure => {
                let made = self.functions.inner(function, i.bx());
                Held { functions: BTreeSet::from([made]), ..Held::default() }
            }
            Call => self.of_call(function, pc, register - i.a()),
            TForCall => self.of_iterator(function, pc, register - (i.a() + 3)),
            _ => Held::default(),
        }
    }

    /// The value that an assignment to a table gives it.
    pub(super) fn of_operand(&mut self, function: usize, pc: usize, i: Instruction) -> Held {
        match i.k() {
            true => self.of_constant(function, i.c()),
            false => self.of_register(function, pc, i.c()),
        }
    }

    fn of_constant(&self, function: usize, number: usize) -> Held {
        let constant = self.prototype(function).constants.get(number);
        constant.map_or_else(Held::default, |value| self.of_value(value))
    }

    /// A value of load time.
    pub(super) fn of_value(&self, value: &Value) -> Held {
        match value {
            Value::Table(table) => Held { tables: BTreeSet::from([*table]), ..Held::default() },
            Value::Closure(closure) => {
                let prototype = self.functions.snapshot.closure(*closure).prototype;
                Held { functions: BTreeSet::from([prototype.index()]), ..Held::default() }
            }
            Value::Builtin(name) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                Held { named: BTreeSet::from([last.to_string()]), ..Held::default() }
            }
            value => Seen::of_value(self.functions.snapshot, value).unwrap_or_default().into(),
        }
    }

    /// What is in a table, under a constant key or any other; or a field of a record, of a header, or a method.
    fn of_element(&mut self, owner: Held, key: Option<&Value>) -> Held {
        let mut held = Held::default();
        for table in &owner.tables {
            match self.shared.get(table) {
                Some(entries) => {
                    held.seen.add(&entries.value);
                    held.entries.insert(*table);
                }
                None => held.add(self.of_table(*table, key)),
            }
        }
        let Some(Value::String(name)) = key else { return held };
        let name = String::from_utf8_lossy(name).into_owned();
        for table in &owner.entries {
            if let Some(field) = self.shared.get(table).and_then(|entries| entries.value.field(&name)) {
                held.seen.add(field);
            }
        }
        if owner.tables.is_empty() && owner.entries.is_empty() {
            held.seen.add(&self.of_header(&name));
            held.named.insert(name);
        }
        held
    }

    fn of_table(&mut self, table: TableId, key: Option<&Value>) -> Held {
        let snapshot = self.functions.snapshot;
        let mut held = Held::default();
        let Some(key) = key else {
            let known = snapshot.table(table);
            let all = known.array.iter().chain(known.entries.iter().map(|(_, value)| value));
            all.for_each(|value| held.add(self.of_value(value)));
            return held;
        };
        let mut next = Some(table);
        for _ in 0..CHAIN {
            let Some(at) = next else { break };
            let entry = |table: TableId, wanted: &Value| {
                let entries = &snapshot.table(table).entries;
                entries.iter().find(|(key, _)| key == wanted).map(|(_, value)| value)
            };
            if let Some(value) = entry(at, key) {
                held.add(self.of_value(value));
                break;
            }
            let index = snapshot.table(at).metatable.and_then(|meta| entry(meta, &Value::string("__index")));
            next = match index {
                Some(Value::Table(table)) => Some(*table),
                _ => None,
            };
        }
        if super::super::reach::is_globals(snapshot, table) {
            for (function, pc) in self.global_assignments(key) {
                let i = self.instruction(function, pc);
                let value = self.of_operand(function, pc, i);
                held.add(value);
            }
        }
        held
    }

    /// Where functions assign the global variable of that name.
    fn global_assignments(&self, name: &Value) -> Vec<(usize, usize)> {
        let all = self.index.globals.iter();
        all.filter(|(assigned, _)| *assigned == name).map(|(_, place)| *place).collect()
    }

    /// What headers have under a name.
    fn of_header(&mut self, name: &str) -> Seen {
        if !self.fields.contains_key(name) {
            let seen = protocols::kinds_of(self.functions.snapshot, self.options, name);
            self.fields.insert(name.to_string(), seen);
        }
        self.fields[name].clone()
    }

    /// A table that is made where a record may be kept: the fields that its constructor gives it.
    fn of_new_table(&mut self, function: usize, pc: usize) -> Seen {
        use Opcode::*;
        let made = self.instruction(function, pc).a();
        let prototype = self.prototype(function);
        let mut fields = BTreeMap::new();
        for at in pc + 1..prototype.code.len() {
            let i = self.instruction(function, at);
            let Some(opcode) = i.opcode() else { break };
            match opcode {
                SetField if i.a() == made => {
                    let Some(Value::String(name)) = prototype.constants.get(i.b()) else { break };
                    let value = self.of_operand(function, at, i);
                    fields.insert(String::from_utf8_lossy(name).into_owned(), self.kept(value));
                }
                SetList if i.a() == made => {
                    for n in 1..=i.vb() {
                        let value = self.of_register(function, at, made + n);
                        fields.insert((i.vc() + n).to_string(), self.kept(value));
                    }
                }
                // The constructor computes its fields in the registers behind the table.
                SetTable | SetI | SetField | Return | Return1 => break,
                _ if opcode.sets_a() && i.a() <= made => break,
                _ => {}
            }
        }
        Seen::record(fields)
    }

    /// A variable from outside of the function: what it is at load time, what it is where the function is made, and what is assigned to it.
    pub(super) fn of_upvalue(&mut self, function: usize, upvalue: usize) -> Held {
        let mut held = Held::default();
        let cells = self.index.cells(self.functions, self.reach, function, upvalue);
        for cell in &cells {
            held.add(self.of_value(&self.functions.snapshot.cell(*cell).value));
        }
        for (assigning, pc, register) in self.assignments(function, upvalue, &cells) {
            let value = self.of_register(assigning, pc, register);
            held.add(value);
        }
        if cells.is_empty() {
            let value = self.of_captured(function, upvalue);
            held.add(value);
        }
        held
    }

    /// Where functions assign the variable, and the registers that they assign.
    fn assignments(&self, function: usize, upvalue: usize, cells: &BTreeSet<CellId>) -> BTreeSet<Use> {
        if !cells.is_empty() {
            return self.index.assignments(cells);
        }
        let all = self.index.upvalues.iter().filter(|(number, at)| (at.0, *number) == (function, upvalue));
        all.map(|(_, at)| *at).collect()
    }

    /// A local variable of the function around, as it is where the function is made.
    fn of_captured(&mut self, function: usize, upvalue: usize) -> Held {
        let Some(description) = self.prototype(function).upvalues.get(upvalue) else {
            return Held::default();
        };
        let (in_stack, index) = (description.in_stack, usize::from(description.index));
        let mut held = Held::default();
        for (outer, pc) in self.index.makers.get(&function).cloned().unwrap_or_default() {
            let found = match in_stack {
                true => self.of_register(outer, pc, index),
                false => self.of_upvalue(outer, index),
            };
            held.add(found);
        }
        held
    }
}
