//! Loops: what the verifier may know of their variables, and the numeric `for`.

use super::Result;
use super::body::Body;
use super::builder::Builder;
use super::registers::Word;
use moonhook_ir::{BinaryOp, CompareOp, Condition, Op, Operand, Terminator, UnaryOp, Value};
use moonhook_snapshot::instruction::Instruction;

impl Builder<'_> {
    /// The same word, of which the verifier knows neither range nor origin. Loops whose variables are such words at every
    /// entry of their header are in the same state there each time, so the verifier walks them once.
    pub(super) fn launder(&mut self, word: &Word) -> Value {
        let Some(zero) = self.zero else { return self.value(word) };
        match word {
            // The zero itself would be linked to its other uses.
            Word::Constant(0) | Word::Name(_) | Word::Nothing => self.unlinked(zero),
            Word::Constant(_) => {
                let zero = self.unlinked(zero);
                let constant = self.operand(word);
                self.code.emit(Op::Binary(BinaryOp::Xor, zero, constant))
            }
            Word::Integer(value) | Word::Truth(value) => {
                self.code.emit(Op::Binary(BinaryOp::Xor, *value, Operand::Value(zero)))
            }
        }
    }

    /// A copy of which the verifier does not know that it is one.
    pub(super) fn unlinked(&mut self, value: Value) -> Value {
        self.code.emit(Op::Unary(UnaryOp::Unlink, value))
    }
}

impl Body<'_, '_> {
    /// Registers A to A + 2 are initial value, limit and step, and become turns left, step and variable.
    pub(super) fn for_prepare(&mut self, i: Instruction) -> Result<()> {
        let Word::Constant(step) = self.get(i.a() + 2) else {
            return self.fail("a step that is no constant");
        };
        if step == 0 || step == i64::MIN {
            return self.fail("a step that cannot be");
        }
        let (enter, skip) = (self.pc + 1, self.pc + 2 + i.bx());
        let (initial, limit) = (self.get(i.a()), self.get(i.a() + 1));
        let (first, last) = (self.builder.value(&initial), self.builder.value(&limit));
        let (op, low, high) =
            if step > 0 { (CompareOp::SLe, first, last) } else { (CompareOp::SGe, last, first) };
        let distance = self.builder.code.emit(Op::Binary(BinaryOp::Sub, high, Operand::Value(low)));
        let turns = match step.unsigned_abs() {
            1 => distance,
            size => {
                let size = self.builder.code.constant(size as i64);
                self.builder.code.emit(Op::Binary(BinaryOp::UDiv, distance, Operand::Value(size)))
            }
        };
        self.set(i.a(), Word::Integer(turns));
        self.set(i.a() + 1, Word::Constant(step));
        self.set(i.a() + 2, Word::Integer(first));
        self.branch(Condition::new(op, first, last), true, enter, skip)
    }

    pub(super) fn for_loop(&mut self, i: Instruction) -> Result<()> {
        let (again, done) = (self.pc + 1 - i.bx(), self.pc + 1);
        let (turns, step, variable) = (self.get(i.a()), self.get(i.a() + 1), self.get(i.a() + 2));
        let turns = self.builder.value(&turns);
        let done = self.target(done)?;
        let (block, _) = self.builder.code.new_block(0);
        let condition = Condition::new(CompareOp::Ne, turns, 0);
        let then = moonhook_ir::Target::new(block, vec![]);
        self.builder.code.terminate(Terminator::Branch { condition, then, otherwise: done });
        self.builder.code.block = block;
        let left = self.builder.code.emit(Op::Binary(BinaryOp::Add, turns, Operand::Imm(-1)));
        let variable = self.builder.value(&variable);
        let step = self.builder.operand(&step);
        let variable = self.builder.code.emit(Op::Binary(BinaryOp::Add, variable, step));
        self.set(i.a(), Word::Integer(left));
        self.set(i.a() + 2, Word::Integer(variable));
        self.go_to(again)
    }
}
