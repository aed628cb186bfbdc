//! Calls, returns, extra arguments, and variables to be closed.

use crate::compact::interpreter::Interpreter;
use crate::compact::record::{A, B, C, Step};
use moonhook_ir::{Block, CompareOp, Value};
use moonhook_runtime::layout::*;

impl Interpreter<'_, '_> {
    pub(super) fn call(&mut self, step: Step) {
        let status = match step {
            Step::Call => return self.call_value(),
            Step::TailCall => return self.tail_call(),
            Step::Return => {
                let from = self.register(A);
                let count = self.count(B, from);
                let status = self.routine("return_values", &[from, count]);
                return self.leave(status);
            }
            Step::Detach => {
                let base = self.base;
                self.routine("close_variables", &[base]);
                return self.next();
            }
            Step::OneVarArg => {
                let (dest, key) = (self.register(A), self.register(B));
                self.routine("get_vararg", &[dest, key]);
                return self.next();
            }
            Step::Close => {
                let level = self.register(A);
                self.routine("close_block", &[level])
            }
            Step::MarkClosed => {
                let slot = self.register(A);
                self.routine("mark_closed", &[slot])
            }
            Step::VarArg => {
                let (dest, want) = (self.register(A), self.number(B));
                let (want, table) = (self.code.add(want, -1), self.operand(C));
                self.routine("get_varargs", &[dest, want, table])
            }
            Step::HideVarArgs => self.routine("hide_varargs", &[]),
            _ => self.routine("vararg_table", &[]),
        };
        self.check(status);
    }

    fn call_value(&mut self) {
        let func = self.register(A);
        let first = self.code.add(func, 16);
        let count = self.count(B, first);
        let want = self.number(C);
        let want = self.code.add(want, -1);
        let tag = self.tag(func);
        let (other, _) = self.code.new_block(0);
        self.code.leave_if(CompareOp::Ne, tag, TAG_CLOSURE as i32, other, &[]);
        let status = self.routine("call_closure", &[func, count, func, want]);
        self.leave(status);
        self.code.block = other;
        self.request(func, count, want);
    }

    /// A call of what is no function of the script, by the program's loop.
    fn request(&mut self, func: Value, count: Value, want: Value) {
        let state = self.state;
        for (field, value) in
            [(L_CALL_FUNC, func), (L_CALL_COUNT, count), (L_CALL_DEST, func), (L_CALL_WANT, want)]
        {
            self.code.store(state, field, value);
        }
        let status = self.code.constant(REQUEST);
        self.leave(status);
    }

    /// A function of the script takes this one's place; the results of anything else are for the record behind.
    fn tail_call(&mut self) {
        let func = self.register(A);
        let first = self.code.add(func, 16);
        let count = self.count(B, first);
        let tag = self.tag(func);
        let (closure, arguments) = self.code.new_block(1);
        let (table, _) = self.code.cold_block(0);
        let (other, _) = self.code.new_block(0);
        self.code.branch(CompareOp::Eq, tag, TAG_CLOSURE as i32, (closure, &[count]), (table, &[]));
        self.code.block = table;
        self.code.leave_if(CompareOp::Ne, tag, TAG_TABLE as i32, other, &[]);
        let with_object = self.routine("tail_target", &[func, count]);
        self.code.leave_if(CompareOp::SLt, with_object, 0, other, &[]);
        self.code.jump(closure, &[with_object]);
        self.code.block = closure;
        self.replace(func, arguments[0], other);
        self.code.block = other;
        let want = self.code.constant(-1);
        self.request(func, count, want);
    }

    /// A library function is called as one: it does not replace the function that errors are reported for.
    fn replace(&mut self, func: Value, arguments: Value, other: Block) {
        let closure = self.payload(func);
        let closure = self.code.arena(closure);
        let record = self.code.load(closure, C_PROTO);
        let record = self.code.arena(record);
        let hidden = self.code.load(record, P_HIDDEN);
        self.code.leave_if(CompareOp::Ne, hidden, 0, other, &[]);
        let status = self.routine("tail_call", &[func, arguments]);
        self.leave(status);
    }
}
