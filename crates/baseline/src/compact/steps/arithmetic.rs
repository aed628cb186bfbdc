//! Arithmetic, length, concatenation and comparisons.

use crate::compact::interpreter::Interpreter;
use crate::compact::record::{A, B, C, D, Step};
use moonhook_ir::{CompareOp, Condition, Op};
use moonhook_runtime::layout::*;

impl Interpreter<'_, '_> {
    pub(super) fn arithmetic(&mut self, step: Step) {
        match step {
            Step::Arithmetic => {
                let (operation, dest) = (self.number(D), self.register(A));
                let (first, second) = (self.operand(B), self.operand(C));
                let status = self.routine("arithmetic", &[operation, dest, first, second]);
                self.check(status);
            }
            Step::Not => {
                let (dest, value) = (self.register(A), self.register(B));
                let tag = self.tag(value);
                let falsy =
                    self.code.emit(Op::Compare(Condition::new(CompareOp::ULe, tag, TAG_FALSE as i32)));
                let tag = self.code.add(falsy, TAG_FALSE);
                self.set(dest, tag, 0);
                self.next();
            }
            Step::Length => {
                let (dest, value) = (self.register(A), self.register(B));
                let status = self.routine("length", &[dest, value]);
                self.check(status);
            }
            Step::BeginConcat => {
                let (frame, count) = (self.frame, self.number(B));
                self.code.store(frame, F_PENDING, count);
                self.next();
            }
            Step::Concat => {
                let from = self.register(A);
                let status = self.routine("concat", &[from]);
                self.check(status);
            }
            Step::Test => {
                let value = self.register(A);
                let tag = self.tag(value);
                self.decide(CompareOp::UGt, tag, TAG_FALSE as i32);
            }
            Step::HasTag => {
                let value = self.register(A);
                let (tag, wanted) = (self.tag(value), self.number(B));
                self.decide(CompareOp::Eq, tag, wanted);
            }
            Step::Answer => {
                let tag = self.code.load(self.state, L_COMPARE);
                self.decide(CompareOp::UGt, tag, TAG_FALSE as i32);
            }
            _ => self.compare(step),
        }
    }

    /// A metamethod's answer is for the record behind.
    fn compare(&mut self, step: Step) {
        let (first, second) = (self.operand(A), self.operand(B));
        if step == Step::Same {
            let function = self.general.routine("value_equal");
            let same = self.code.call(function, &[first, second]);
            return self.decide(CompareOp::Ne, same, 0);
        }
        let name = match step {
            Step::Equal => "equal",
            Step::Less => "less_than",
            _ => "less_equal",
        };
        let status = self.routine(name, &[first, second]);
        let (asked, _) = self.code.new_block(0);
        self.code.leave_if(CompareOp::UGe, status, 2, asked, &[]);
        self.decide(CompareOp::Ne, status, 0);
        self.code.block = asked;
        self.leave(status);
    }
}
