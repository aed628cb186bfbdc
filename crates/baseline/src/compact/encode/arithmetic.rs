//! Arithmetic, length, concatenation and comparisons.

use super::Encoder;
use crate::compact::record::{Goal, Step, register};
use crate::ops::immediate_value;
use moonhook_runtime::layout::*;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::operation::{Operand, Operation};

impl Encoder<'_, '_> {
    pub(super) fn arithmetic(&mut self, opcode: Opcode, i: Instruction) {
        let (a, b) = (register(i.a()), register(i.b()));
        match opcode {
            Opcode::Not => drop(self.push(Step::Not, [a, b, 0])),
            Opcode::Len => drop(self.push_calling(Step::Length, [a, b, 0])),
            Opcode::Unm => self.operate(OPERATION_UNM, [a, b, b]),
            Opcode::BNot => self.operate(OPERATION_BNOT, [a, b, b]),
            Opcode::Concat => {
                self.push(Step::BeginConcat, [a, i.b() as u32, 0]);
                self.push_repeated(Step::Concat, [a, 0, 0]);
            }
            _ => self.binary(i),
        }
    }

    fn binary(&mut self, i: Instruction) {
        let Some(Operation { number, operands }) = self.prototype.operation(self.pc) else {
            return self.general.fail_internally("an operator without operands");
        };
        let [first, second] = operands.map(|operand| match operand {
            Operand::Register(r) => register(r),
            Operand::Integer(value) => self.integer(value),
            Operand::Constant(index) => self.known(index),
        });
        self.operate(number as i64, [register(i.a()), first, second]);
    }

    fn operate(&mut self, operation: i64, operands: [u32; 3]) {
        self.push_calling(Step::Arithmetic, operands).operands[3] = operation as u32;
    }

    /// A comparison or test, with the jump behind it, which is taken where the condition equals k.
    pub(super) fn comparison(&mut self, opcode: Opcode, i: Instruction) {
        let jump = Goal::Pc((self.pc as i64 + 2 + self.at(self.pc + 1).sj()) as usize);
        let skip = Goal::Pc(self.pc + 2);
        let (holds, fails) = if i.k() { (jump, skip) } else { (skip, jump) };
        let a = register(i.a());
        let (step, operands) = match opcode {
            Opcode::Test => (Step::Test, [a, 0, 0]),
            Opcode::TestSet => return self.test_set(i, jump, skip),
            Opcode::EqK => match self.prototype.constants.get(i.b()) {
                Some(Value::Nil) => (Step::HasTag, [a, TAG_NIL as u32, 0]),
                Some(Value::Boolean(false)) => (Step::HasTag, [a, TAG_FALSE as u32, 0]),
                Some(Value::Boolean(true)) => (Step::HasTag, [a, TAG_TRUE as u32, 0]),
                _ => (Step::Same, [a, self.known(i.b()), 0]),
            },
            Opcode::EqI => (Step::Same, [a, self.integer(i.sb()), 0]),
            Opcode::Eq => (Step::Equal, [a, register(i.b()), 0]),
            Opcode::Lt => (Step::Less, [a, register(i.b()), 0]),
            Opcode::Le => (Step::LessEqual, [a, register(i.b()), 0]),
            Opcode::LtI => (Step::Less, [a, self.word(immediate_value(i)), 0]),
            Opcode::LeI => (Step::LessEqual, [a, self.word(immediate_value(i)), 0]),
            Opcode::GtI => (Step::Less, [self.word(immediate_value(i)), a, 0]),
            _ => (Step::LessEqual, [self.word(immediate_value(i)), a, 0]),
        };
        let with_metamethods = matches!(step, Step::Equal | Step::Less | Step::LessEqual);
        let record =
            if with_metamethods { self.push_calling(step, operands) } else { self.push(step, operands) };
        (record.then, record.next) = (holds, fails);
        if with_metamethods {
            let answer = self.push(Step::Answer, [0; 3]);
            (answer.then, answer.next) = (holds, fails);
        }
    }

    /// `if (not R[B] == k) then pc++ else R[A] := R[B]` and the jump.
    fn test_set(&mut self, i: Instruction, jump: Goal, skip: Goal) {
        let test = self.push(Step::Test, [register(i.b()), 0, 0]);
        (test.then, test.next) = if i.k() { (Goal::Behind, skip) } else { (skip, Goal::Behind) };
        self.push(Step::Move, [register(i.a()), register(i.b()), 0]).next = jump;
    }
}
