//! Upvalues, variables of all packets, tables and fields.

use crate::compact::interpreter::Interpreter;
use crate::compact::record::{A, B, C, Step};
use crate::values::add_to_variable;
use moonhook_ir::{CompareOp, Value};
use moonhook_runtime::layout::*;

impl Interpreter<'_, '_> {
    pub(super) fn access(&mut self, step: Step) {
        match step {
            Step::Move => {
                let (to, from) = (self.register(A), self.operand(B));
                self.copy(to, from);
                self.next();
            }
            Step::GetUpvalue => {
                let (to, from) = (self.register(A), self.place(B));
                self.leave_own(from, |this| this.copy(to, from));
                self.copy_variable(to, from);
                self.next();
            }
            Step::GetVariable => {
                let (to, from) = (self.register(A), self.number(B));
                self.copy_variable(to, from);
                self.next();
            }
            Step::ReadUpvalue => self.read_upvalue(),
            Step::SetUpvalue => {
                let (to, from) = (self.place(B), self.register(A));
                self.copy(to, from);
                self.next();
            }
            Step::AssignUpvalue => self.assign_upvalue(),
            Step::NoteRead => {
                let (place, value) = (self.number(A), self.register(B));
                self.routine("variable_note_read", &[place, value]);
                self.next();
            }
            Step::Assign => {
                let (place, value) = (self.number(A), self.operand(B));
                self.assign(place, value);
            }
            Step::Closure => {
                let (dest, record) = (self.register(A), self.number(B));
                let status = self.routine("make_closure", &[dest, record]);
                self.check(status);
            }
            Step::NewTable => self.new_table(),
            Step::SetList => self.set_list(),
            _ => self.index(step),
        }
    }

    fn index(&mut self, step: Step) {
        use Step::{AssignField, Index, IndexUpvalue, ReadField, ReadUpvalueField, SetUpvalueIndex};
        if matches!(step, Index | IndexUpvalue | ReadField | ReadUpvalueField) {
            let is_upvalue = matches!(step, IndexUpvalue | ReadUpvalueField);
            let object = if is_upvalue { self.upvalue_object(B) } else { self.register(B) };
            let (dest, key) = (self.register(A), self.operand(C));
            if matches!(step, ReadField | ReadUpvalueField) {
                self.if_variable(object, key, |this, place| {
                    this.copy_variable(dest, place);
                    this.routine("variable_note_read", &[place, dest]);
                    this.next();
                });
            }
            let status = self.routine("index", &[dest, object, key]);
            return self.check(status);
        }
        let object = if step == SetUpvalueIndex { self.upvalue_object(A) } else { self.register(A) };
        let (key, value) = (self.operand(B), self.operand(C));
        if step == AssignField {
            self.if_variable(object, key, |this, place| this.assign(place, value));
        }
        let status = self.routine("set_index", &[object, key, value]);
        self.check(status);
    }

    /// Ends the step by `variable`, with the address of the field's value, where the field is a variable; goes on where it is not.
    fn if_variable(&mut self, object: Value, key: Value, variable: impl FnOnce(&mut Self, Value)) {
        let text = self.payload(key);
        let function = self.general.routine("text_hash");
        let hash = self.code.call(function, &[text]);
        let place = self.routine("variable_place", &[object, text, hash]);
        let (is_variable, _) = self.code.new_block(0);
        self.code.leave_if(CompareOp::Ne, place, 0, is_variable, &[]);
        let on = std::mem::replace(&mut self.code.block, is_variable);
        variable(self, place);
        self.code.block = on;
    }

    /// Ends the step by `own_step` where a variable is one of the packet's own.
    fn leave_own(&mut self, address: Value, own_step: impl FnOnce(&mut Self)) {
        let end = self.code.load(self.state, L_IMAGE_END);
        let (own, _) = self.code.new_block(0);
        self.code.leave_if(CompareOp::UGe, address, end, own, &[]);
        let on = std::mem::replace(&mut self.code.block, own);
        own_step(self);
        self.next();
        self.code.block = on;
    }

    fn read_upvalue(&mut self) {
        let (to, from) = (self.register(A), self.place(B));
        self.leave_own(from, |this| this.copy(to, from));
        self.copy_variable(to, from);
        self.routine("variable_note_read", &[from, to]);
        self.next();
    }

    fn assign_upvalue(&mut self) {
        let (address, value) = (self.place(B), self.register(A));
        self.leave_own(address, |this| this.copy(address, value));
        self.assign(address, value);
    }

    /// Assigns to a variable that all packets share; what is to be added to it is added at once.
    fn assign(&mut self, address: Value, value: Value) {
        let status = self.routine("variable_assign", &[address, value]);
        self.leave_if(CompareOp::SLt, status);
        let (adds, _) = self.code.new_block(0);
        self.code.leave_if(CompareOp::Ne, status, 0, adds, &[]);
        self.next();
        self.code.block = adds;
        let added = self.code.load(self.state, L_RESULT);
        add_to_variable(&mut self.code, address, added);
        self.next();
    }

    fn new_table(&mut self) {
        let (array, hash) = (self.number(B), self.number(C));
        let made = self.routine("table_new", &[array, hash]);
        let (failed, _) = self.code.cold_block(0);
        self.code.leave_if(CompareOp::Eq, made, 0, failed, &[]);
        let dest = self.register(A);
        self.set(dest, TAG_TABLE as i32, made);
        self.next();
        self.code.block = failed;
        let status = self.code.constant(FAIL);
        self.leave(status);
    }

    fn set_list(&mut self) {
        let at = self.register(A);
        let from = self.code.add(at, 16);
        let count = self.count(B, from);
        let (table, first) = (self.payload(at), self.number(C));
        let status = self.routine("table_append", &[table, from, count, first]);
        self.check(status);
    }
}
