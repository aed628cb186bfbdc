//! The subprogram that goes through records: `(context, state) -> status`, entered at the running frame's site like a unit.
//!
//! It goes on until the handler has ended or the running function is not an interpreted one. A record's address is always read
//! from memory, so that the verifier meets the loop's head in one state.

use super::record::{self, Step};
use crate::General;
use crate::values::{copy_value, copy_variable};
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{BinaryOp, Block, CompareOp, Operand, Target, Terminator, Value};
use moonhook_runtime::layout::*;
use moonhook_specialise::of_program;

pub struct Interpreter<'g, 'a> {
    pub general: &'g mut General<'a>,
    pub code: Builder,
    pub state: Value,
    /// Takes a record's address.
    head: Block,
    /// Takes a status that is not 0.
    leave: Block,
    /// Raises the error of an exhausted budget.
    pub exhausted: Block,
    /// Pointers to the present record and the running frame.
    pub record: Value,
    pub frame: Value,
    /// The address of register 0.
    pub base: Value,
}

/// Makes the interpreter; its steps call routines by name.
pub fn make(general: &mut General<'_>) -> ir::Function {
    let name = of_program("interpreter", general.program);
    let mut code = Builder::new(&name, general.with_context(), 2);
    let (dispatch, _) = code.new_block(0);
    let (head, at) = code.new_block(1);
    let (leave, status) = code.cold_block(1);
    let (exhausted, _) = code.cold_block(0);
    let address = code.param(1);
    let state = code.arena(address);
    code.jump(dispatch, &[]);
    let none = Value::NONE;
    let (record, frame, base) = (none, none, none);
    let mut made = Interpreter { general, code, state, head, leave, exhausted, record, frame, base };
    made.dispatch(dispatch);
    made.steps(at[0]);
    made.code.block = leave;
    made.code.leave_if(CompareOp::Eq, status[0], DISPATCH as i32, dispatch, &[]);
    made.code.ret(Operand::Value(status[0]));
    made.code.block = exhausted;
    let status = made.routine("budget_error", &[]);
    made.leave(status);
    made.code.function
}

impl Interpreter<'_, '_> {
    /// Goes on at the running frame's site, or gives up control where it is not one of an interpreted function.
    fn dispatch(&mut self, dispatch: Block) {
        let code = &mut self.code;
        code.block = dispatch;
        let frame = code.load(self.state, L_CI);
        let frame = code.arena(frame);
        let site = code.load(frame, F_SITE);
        let offset = code.binary(BinaryOp::Mul, site, SITE_SIZE as i32);
        let sites = code.load(self.state, L_SITES);
        let site = code.binary(BinaryOp::Add, sites, offset);
        let site = code.arena(site);
        let record = code.load_half(site, S_CODE);
        let (elsewhere, _) = code.cold_block(0);
        code.branch(CompareOp::Eq, record, 0, (elsewhere, &[]), (self.head, &[record]));
        code.block = elsewhere;
        code.ret(DISPATCH as i32);
    }

    /// The loop's head, and the code of each step.
    fn steps(&mut self, at: Value) {
        let code = &mut self.code;
        let (go, _) = code.new_block(0);
        let (stop, _) = code.cold_block(0);
        code.block = self.head;
        code.terminate(Terminator::MayGoto { go: Target::new(go, vec![]), stop: Target::new(stop, vec![]) });
        code.block = stop;
        code.ret(FAILED as i32);
        code.block = go;
        let record = code.arena(at);
        let frame = code.load(self.state, L_CI);
        let frame = code.arena(frame);
        let site = code.load_half(record, record::SITE);
        code.store(frame, F_SITE, site);
        let base = code.load(frame, F_BASE);
        let step = code.load_half(record, record::STEP);
        // Those that no function needs would bring in more routines.
        let steps: Vec<Step> = self.general.used_steps.iter().copied().collect();
        let blocks: Vec<(i64, Block)> =
            steps.iter().map(|step| (*step as i64, self.code.new_block(3).0)).collect();
        let (none, _) = self.code.cold_block(3);
        self.code.switch(step, &blocks, none, &[record, frame, base]);
        self.code.block = none;
        self.code.ret(FAILED as i32);
        for (step, (_, block)) in steps.iter().zip(blocks) {
            let params = &self.code.function.block(block).params;
            (self.record, self.frame, self.base) = (params[0], params[1], params[2]);
            self.code.block = block;
            self.step(*step);
        }
    }

    /// An operand as a number.
    pub fn number(&mut self, field: i64) -> Value {
        self.code.load_half(self.record, field)
    }

    /// The address of the register that an operand names.
    pub fn register(&mut self, field: i64) -> Value {
        let offset = self.number(field);
        self.code.binary(BinaryOp::Add, offset, self.base)
    }

    /// The address of the register or constant that an operand names.
    pub fn operand(&mut self, field: i64) -> Value {
        let number = self.number(field);
        let constant = self.code.binary(BinaryOp::And, number, 1);
        let place = self.code.binary(BinaryOp::Sub, number, constant);
        // All bits for a register, none for a constant.
        let mask = self.code.add(constant, -1);
        let base = self.code.binary(BinaryOp::And, mask, self.base);
        self.code.binary(BinaryOp::Add, base, place)
    }

    /// A pointer to an upvalue's variable, for the operand that says where the closure has it.
    pub fn variable(&mut self, field: i64) -> Value {
        let closure = self.code.load(self.frame, F_CLOSURE);
        let offset = self.number(field);
        let place = self.code.binary(BinaryOp::Add, closure, offset);
        let place = self.code.arena(place);
        let variable = self.code.load(place, 0);
        self.code.arena(variable)
    }

    /// The address of an upvalue's value.
    pub fn place(&mut self, field: i64) -> Value {
        let variable = self.variable(field);
        self.code.load(variable, U_PLACE)
    }

    /// Copies the value of a variable of load time.
    pub fn copy_variable(&mut self, to: Value, place: Value) {
        let to = self.code.arena(to);
        copy_variable(&mut self.code, (to, 0), place);
    }

    /// The address of an upvalue's value; that of a variable of load time is copied to where other CPUs do not change it.
    pub fn upvalue_object(&mut self, field: i64) -> Value {
        let place = self.place(field);
        let (shared, _) = self.code.new_block(0);
        let (done, found) = self.code.new_block(1);
        let end = self.code.load(self.state, L_IMAGE_END);
        self.code.branch(CompareOp::ULt, place, end, (shared, &[]), (done, &[place]));
        self.code.block = shared;
        copy_variable(&mut self.code, (self.state, L_UPVALUE), place);
        let state = self.code.load(self.state, L_SELF);
        let copy = self.code.add(state, L_UPVALUE);
        self.code.jump(done, &[copy]);
        self.code.block = done;
        found[0]
    }

    /// Copies the value at an address to another one.
    pub fn copy(&mut self, to: Value, from: Value) {
        let (to, from) = (self.code.arena(to), self.code.arena(from));
        copy_value(&mut self.code, to, 0, from, 0);
    }

    pub fn set(&mut self, to: Value, tag: impl Into<Operand>, payload: impl Into<Operand>) {
        let to = self.code.arena(to);
        self.code.store(to, 0, tag);
        self.code.store(to, 8, payload);
    }

    pub fn tag(&mut self, address: Value) -> Value {
        let value = self.code.arena(address);
        self.code.load(value, 0)
    }

    pub fn payload(&mut self, address: Value) -> Value {
        let value = self.code.arena(address);
        self.code.load(value, 8)
    }

    /// Calls a routine with the state and more arguments.
    pub fn routine(&mut self, name: &str, args: &[Value]) -> Value {
        let function = self.general.routine(name);
        let mut all = vec![self.code.load(self.state, L_SELF)];
        all.extend(args);
        self.code.call(function, &all)
    }

    /// The number of values from an address on to the end of the open list.
    pub fn open_count(&mut self, first: Value) -> Value {
        let top = self.code.load(self.frame, F_TOP);
        let bytes = self.code.binary(BinaryOp::Sub, top, first);
        self.code.binary(BinaryOp::AShr, bytes, 4)
    }

    /// An operand's number - 1, or, for 0, the length of the open list from `first` on.
    pub fn count(&mut self, field: i64, first: Value) -> Value {
        let number = self.number(field);
        let (open, _) = self.code.new_block(0);
        let (done, count) = self.code.new_block(1);
        let fixed = self.code.add(number, -1);
        self.code.branch(CompareOp::Eq, number, 0, (open, &[]), (done, &[fixed]));
        self.code.block = open;
        let length = self.open_count(first);
        self.code.jump(done, &[length]);
        self.code.block = done;
        count[0]
    }

    /// Ends the step; execution goes on at the record that a field names.
    pub fn go_to(&mut self, field: i64) {
        let at = self.number(field);
        let head = self.head;
        self.code.jump(head, &[at]);
    }

    pub fn next(&mut self) {
        self.go_to(record::NEXT);
    }

    /// Ends the step with a status for whoever sees to it.
    pub fn leave(&mut self, status: Value) {
        let leave = self.leave;
        self.code.jump(leave, &[status]);
    }

    /// Leaves if a status is not as it should be.
    pub fn leave_if(&mut self, op: CompareOp, status: Value) {
        let leave = self.leave;
        self.code.leave_if(op, status, 0, leave, &[status]);
    }

    /// Ends the step: goes on if a status is 0, leaves otherwise.
    pub fn check(&mut self, status: Value) {
        self.leave_if(CompareOp::Ne, status);
        self.next();
    }

    /// Ends the step at one goal of the record or the other.
    pub fn decide(&mut self, op: CompareOp, lhs: Value, rhs: impl Into<Operand>) {
        let (then, _) = self.code.new_block(0);
        let (otherwise, _) = self.code.new_block(0);
        self.code.branch(op, lhs, rhs, (then, &[]), (otherwise, &[]));
        self.code.block = then;
        self.go_to(record::THEN);
        self.code.block = otherwise;
        self.next();
    }

    /// Takes a step of the budget.
    pub fn spend(&mut self) {
        let budget = self.code.load(self.state, L_BUDGET);
        let budget = self.code.add(budget, -1);
        self.code.store(self.state, L_BUDGET, budget);
        let exhausted = self.exhausted;
        self.code.leave_if(CompareOp::SLt, budget, 0, exhausted, &[]);
    }
}
