//! Jumps and loops.

use crate::compact::interpreter::Interpreter;
use crate::compact::record::{A, B, Step};
use moonhook_ir::{BinaryOp, CompareOp};
use moonhook_runtime::layout::*;

impl Interpreter<'_, '_> {
    pub(super) fn control(&mut self, step: Step) {
        match step {
            Step::Jump => self.next(),
            Step::Loop => {
                self.spend();
                self.next();
            }
            Step::ForPrepare => {
                let at = self.register(A);
                let status = self.routine("for_prepare", &[at]);
                self.leave_if(CompareOp::SLt, status);
                self.decide(CompareOp::Ne, status, 0);
            }
            Step::ForLoop => self.for_loop(),
            Step::Exchange => {
                let at = self.register(A);
                let at = self.code.arena(at);
                let words = [0, 8, 16, 24].map(|word| self.code.load(at, word));
                for (word, to) in words.into_iter().zip([16, 24, 0, 8]) {
                    self.code.store(at, to, word);
                }
                self.next();
            }
            Step::BeginTraversal => self.begin_traversal(),
            Step::Traverse => self.traverse(),
            _ => self.refuse_defined(),
        }
    }

    /// The counter of turns left stands in the first register, step and variable in the next ones; or a float, where the loop is one over
    /// floats.
    fn for_loop(&mut self) {
        let address = self.register(A);
        let at = self.code.arena(address);
        let (done, _) = self.code.new_block(0);
        let (floats, _) = self.code.cold_block(0);
        let tag = self.code.load(at, 0);
        self.code.leave_if(CompareOp::Ne, tag, TAG_INT as i32, floats, &[]);
        let count = self.code.load(at, 8);
        self.code.leave_if(CompareOp::Eq, count, 0, done, &[]);
        let count = self.code.add(count, -1);
        self.code.store(at, 8, count);
        let (step, variable) = (self.code.load(at, 24), self.code.load(at, 40));
        let variable = self.code.binary(BinaryOp::Add, variable, step);
        self.code.store(at, 32, TAG_INT as i32);
        self.code.store(at, 40, variable);
        self.spend();
        self.go_to(crate::compact::record::THEN);
        self.code.block = floats;
        let function = self.general.routine("for_next_float");
        let goes_on = self.code.call(function, &[address]);
        self.code.leave_if(CompareOp::Eq, goes_on, 0, done, &[]);
        self.spend();
        self.go_to(crate::compact::record::THEN);
        self.code.block = done;
        self.next();
    }

    fn begin_traversal(&mut self) {
        let next_id = self.general.builtin("next").1;
        let at = self.register(A);
        let values = self.code.arena(at);
        let (other, _) = self.code.new_block(0);
        for (offset, wanted) in [(0, TAG_BUILTIN as i32), (8, next_id as i32), (16, TAG_TABLE as i32)] {
            let word = self.code.load(values, offset);
            self.code.leave_if(CompareOp::Ne, word, wanted, other, &[]);
        }
        let status = self.routine("traversal_begin", &[at]);
        self.check(status);
        self.code.block = other;
        self.next();
    }

    fn traverse(&mut self) {
        let at = self.register(A);
        let (other, _) = self.code.new_block(0);
        let tag = self.tag(at);
        self.code.leave_if(CompareOp::Ne, tag, TAG_TRAVERSAL as i32, other, &[]);
        let table = self.payload(at);
        let (state, key) = (self.code.add(at, 16), self.code.add(at, 48));
        let status = self.routine("traversal_next", &[table, state, key]);
        self.leave(status);
        self.code.block = other;
        self.next();
    }

    fn refuse_defined(&mut self) {
        let value = self.register(A);
        let (defined, _) = self.code.cold_block(0);
        let tag = self.tag(value);
        self.code.leave_if(CompareOp::Ne, tag, TAG_NIL as i32, defined, &[]);
        self.next();
        self.code.block = defined;
        let text = self.operand(B);
        let text = self.payload(text);
        let status = self.routine("raise_here", &[text]);
        self.leave(status);
    }
}
