//! Registers that surely hold tables which functions of the script have made, or load time: what is indexed there is no packet, no header
//! and no table of the library.

use super::Computed;
use crate::kinds::Code;
use crate::stores::Tables;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::Opcode;

/// Instructions by which a table is followed to where it is made, at most.
pub(super) const STEPS: usize = 24;

impl Computed<'_, '_> {
    /// Whether a register surely holds such a table, or nil, as far as so many instructions tell.
    pub(super) fn is_table(&mut self, function: usize, pc: usize, register: usize, steps: usize) -> bool {
        let code = self.code(function);
        let is_variable = code.captured_at(pc, register).is_some_and(|captured| captured.made < pc);
        self.is_set_to_table(function, (&code, pc, register), is_variable, steps)
    }

    /// The same of a register that may be a variable which functions made inside have, too.
    fn is_set_to_table(
        &mut self,
        function: usize,
        (code, pc, register): (&Code, usize, usize),
        is_variable: bool,
        steps: usize,
    ) -> bool {
        self.work += 1;
        let Some(steps) = steps.checked_sub(1).filter(|_| !self.is_tired()) else { return false };
        let (mut setters, from_start) = code.definitions(pc, register);
        if is_variable {
            if self.functions.may_change_inside(function, register, pc..pc) {
                return false;
            }
            setters.extend(code.captured_at(pc, register).into_iter().flat_map(|own| code.setters_of(own)));
        }
        !from_start && setters.into_iter().all(|setter| self.sets_table(function, setter, register, steps))
    }

    fn sets_table(&mut self, function: usize, pc: usize, register: usize, steps: usize) -> bool {
        let i = self.instruction(function, pc);
        match i.opcode() {
            Some(Opcode::NewTable | Opcode::LoadNil) => true,
            Some(Opcode::Move) => self.is_table(function, pc, i.b(), steps),
            Some(Opcode::GetUpval) => self.is_table_of_upvalue(function, i.b(), steps),
            Some(Opcode::GetField | Opcode::GetTabUp) => {
                self.constant(function, i.c()).is_some_and(|name| self.table_fields.contains(name))
            }
            Some(Opcode::Call) => self.gives_table(function, pc, register, steps),
            _ => false,
        }
    }

    /// Of a register that a call sets: of what the function returns wherever it does.
    fn gives_table(&mut self, function: usize, pc: usize, register: usize, steps: usize) -> bool {
        let i = self.instruction(function, pc);
        let number = register - i.a();
        // Registers behind the results are garbage, and of results that are as many as there are, nothing is known.
        if number + 1 >= i.c() {
            return false;
        }
        let tables = Tables::new(self.functions, self.reach, function);
        let Some(Value::Closure(called)) = tables.value_in_register(pc, i.a()) else { return false };
        let called = self.functions.snapshot.closure(called).prototype.index();
        if self.functions.is_hidden(called) {
            return false;
        }
        (0..self.prototype(called).code.len()).all(|pc| {
            let i = self.instruction(called, pc);
            let count = match (i.opcode(), i.b()) {
                (Some(Opcode::Return1), _) => 1,
                (Some(Opcode::TailCall), _) | (Some(Opcode::Return), 0) => return false,
                (Some(Opcode::Return), b) => b - 1,
                _ => 0,
            };
            // What is not returned is nil.
            number >= count || self.is_table(called, pc, i.a() + number, steps)
        })
    }

    /// Of a variable from outside of a function, which is one of the function around it.
    pub(super) fn is_table_of_upvalue(&mut self, function: usize, upvalue: usize, steps: usize) -> bool {
        let Some(&(outer, number)) = self.around.get(&function) else { return false };
        let captured = &self.prototype(function).upvalues[upvalue];
        let (in_stack, index) = (captured.in_stack, usize::from(captured.index));
        if self.reach.may_be_of_load_time(self.functions, function, upvalue) {
            return false;
        }
        if !in_stack {
            return steps > 0 && self.is_table_of_upvalue(outer, index, steps - 1);
        }
        let code = self.code(outer);
        (0..self.prototype(outer).code.len()).all(|pc| {
            let i = self.instruction(outer, pc);
            let makes = i.opcode() == Some(Opcode::Closure) && i.bx() == number;
            !makes || self.is_set_to_table(outer, (&code, pc, index), true, steps)
        })
    }
}
