//! Upvalues, tables and fields.

use super::Encoder;
use crate::compact::record::{Step, register};
use moonhook_runtime::layout::C_VARIABLES;
use moonhook_snapshot::instruction::{Instruction, Opcode};

impl Encoder<'_, '_> {
    pub(super) fn access(&mut self, opcode: Opcode, i: Instruction) {
        let (a, b, c) = (register(i.a()), register(i.b()), register(i.c()));
        match opcode {
            Opcode::GetUpval => self.get_upvalue(i),
            Opcode::SetUpval => {
                let own = self.general.is_of_packet(self.index, i.b());
                let step = if own { Step::SetUpvalue } else { Step::AssignUpvalue };
                self.push_failing(step, [a, upvalue(i.b()), 0]);
            }
            Opcode::Closure => {
                let inner = self.general.functions.inner(self.index, i.bx());
                let record = self.general.prototype_record(inner) as u32;
                self.push_failing(Step::Closure, [a, record, 0]);
            }
            Opcode::GetTabUp => self.get_global(i),
            Opcode::SetTabUp => self.set_global(i),
            Opcode::GetTable => drop(self.push_calling(Step::Index, [a, b, c])),
            Opcode::GetI => {
                let key = self.integer(i.c() as i64);
                self.push_calling(Step::Index, [a, b, key]);
            }
            Opcode::GetField => {
                let step = if self.reads_variable(i.c()) { Step::ReadField } else { Step::Index };
                let key = self.known(i.c());
                self.push_calling(step, [a, b, key]);
            }
            Opcode::Self_ => {
                let key = self.known(i.c());
                let object = register(i.a() + 1);
                self.push(Step::Move, [object, b, 0]);
                self.push_calling(Step::Index, [a, object, key]);
            }
            Opcode::SetTable => self.set(i, b),
            Opcode::SetI => {
                let key = self.integer(i.b() as i64);
                self.set(i, key);
            }
            Opcode::SetField => self.set_field(i),
            Opcode::NewTable => self.new_table(i),
            _ => self.set_list(i),
        }
    }

    fn set(&mut self, i: Instruction, key: u32) {
        let value = self.stored(i);
        self.push_calling(Step::SetIndex, [register(i.a()), key, value]);
    }

    /// Whether the field with that name may be a variable, which is read here in order to add to it.
    fn reads_variable(&self, name: usize) -> bool {
        self.sites.is_read(self.pc) && self.general.reach.assigned_names.contains(self.text(name))
    }

    /// A field of a table of load time may be a variable.
    fn set_field(&mut self, i: Instruction) {
        let named = self.general.reach.assigned_names.contains(self.text(i.b()));
        let is_new = self.general.functions.is_new(self.index, self.pc, i.a());
        let step = if named && !is_new { Step::AssignField } else { Step::SetIndex };
        let (key, value) = (self.known(i.b()), self.stored(i));
        self.push_calling(step, [register(i.a()), key, value]);
    }

    /// The operand C of a store: a register, or a constant.
    fn stored(&mut self, i: Instruction) -> u32 {
        if i.k() { self.known(i.c()) } else { register(i.c()) }
    }

    fn get_upvalue(&mut self, i: Instruction) {
        let (a, from) = (register(i.a()), upvalue(i.b()));
        if self.sites.is_read(self.pc) && !self.general.is_of_packet(self.index, i.b()) {
            self.push_failing(Step::ReadUpvalue, [a, from, 0]);
        } else {
            self.push(Step::GetUpvalue, [a, from, 0]);
        }
    }

    fn get_global(&mut self, i: Instruction) {
        let table = self.general.known_upvalue(self.index, i.b());
        let a = register(i.a());
        if let Some(value) = self.known_field(table.as_ref(), i.c()) {
            self.push(Step::Move, [a, value, 0]);
            return;
        }
        let name = self.text(i.c()).to_vec();
        if let Some(place) = self.general.variable_of_known(&table, &name) {
            self.push(Step::GetVariable, [a, place as u32, 0]);
            if self.sites.is_read(self.pc) {
                self.push_failing(Step::NoteRead, [place as u32, a, 0]);
            }
            return;
        }
        let step = if self.reads_variable(i.c()) { Step::ReadUpvalueField } else { Step::IndexUpvalue };
        let key = self.known(i.c());
        self.push_calling(step, [a, upvalue(i.b()), key]);
    }

    fn set_global(&mut self, i: Instruction) {
        let table = self.general.known_upvalue(self.index, i.a());
        let name = self.text(i.b()).to_vec();
        let value = self.stored(i);
        if let Some(place) = self.general.variable_of_known(&table, &name) {
            self.push_failing(Step::Assign, [place as u32, value, 0]);
            return;
        }
        let key = self.known(i.b());
        self.push_calling(Step::SetUpvalueIndex, [upvalue(i.a()), key, value]);
    }

    fn new_table(&mut self, i: Instruction) {
        let extra = if i.k() { self.at(self.pc + 1).ax() as u32 * 1024 } else { 0 };
        let hash = if i.vb() == 0 { 0 } else { 1u32 << (i.vb() - 1).min(31) };
        self.push_failing(Step::NewTable, [register(i.a()), i.vc() as u32 + extra, hash]);
    }

    fn set_list(&mut self, i: Instruction) {
        let extra = if i.k() { self.at(self.pc + 1).ax() as u32 * 1024 } else { 0 };
        let count = if i.vb() == 0 { 0 } else { i.vb() as u32 + 1 };
        self.push_failing(Step::SetList, [register(i.a()), count, i.vc() as u32 + extra]);
    }
}

/// Where a closure has the variable.
fn upvalue(number: usize) -> u32 {
    (C_VARIABLES + 8 * number as i64) as u32
}
