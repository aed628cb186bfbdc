//! Operators of integers. Division rounds down as in Lua, by positive constants only.

use super::Result;
use super::body::Body;
use super::registers::Word;
use moonhook_ir::{BinaryOp, CompareOp, Condition, Op, Operand, UnaryOp};
use moonhook_snapshot::instruction::{Instruction, Opcode};

impl Body<'_, '_> {
    pub(super) fn arithmetic(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        use Opcode::*;
        let lhs = self.get(i.b());
        let rhs = match opcode {
            AddI | ShlI | ShrI => Word::Constant(i.sc()),
            AddK | SubK | MulK | ModK | IDivK | BAndK | BOrK | BXorK => self.constant(i.c())?,
            _ => self.get(i.c()),
        };
        let result = match opcode {
            AddI | AddK | Add => self.sum(&lhs, &rhs, 1),
            SubK | Sub => self.sum(&lhs, &rhs, -1),
            MulK | Mul => self.binary(BinaryOp::Mul, &lhs, &rhs),
            BAndK | BAnd => self.binary(BinaryOp::And, &lhs, &rhs),
            BOrK | BOr => self.binary(BinaryOp::Or, &lhs, &rhs),
            BXorK | BXor => self.binary(BinaryOp::Xor, &lhs, &rhs),
            ModK | Mod | IDivK | IDiv => self.division(opcode, &lhs, &rhs)?,
            ShrI | Shr => self.shift(&lhs, &rhs, 1)?,
            Shl => self.shift(&lhs, &rhs, -1)?,
            // The constant is shifted by the register.
            ShlI => self.shift(&rhs, &lhs, -1)?,
            Unm => {
                let value = self.builder.value(&lhs);
                Word::Integer(self.builder.code.emit(Op::Unary(UnaryOp::Neg, value)))
            }
            _ => self.binary(BinaryOp::Xor, &lhs, &Word::Constant(-1)),
        };
        self.set(i.a(), result);
        Ok(())
    }

    fn binary(&mut self, op: BinaryOp, lhs: &Word, rhs: &Word) -> Word {
        let lhs = self.builder.value(lhs);
        let rhs = self.builder.operand(rhs);
        Word::Integer(self.builder.code.emit(Op::Binary(op, lhs, rhs)))
    }

    /// A sum or difference; with a constant it is remembered for displacements.
    fn sum(&mut self, lhs: &Word, rhs: &Word, sign: i64) -> Word {
        if let (Word::Constant(x), Word::Constant(y)) = (lhs, rhs) {
            return Word::Constant(x.wrapping_add(y.wrapping_mul(sign)));
        }
        let (value, constant) = match (lhs, rhs) {
            (Word::Integer(value), Word::Constant(constant)) => (*value, constant.wrapping_mul(sign)),
            (Word::Constant(constant), Word::Integer(value)) if sign == 1 => (*value, *constant),
            _ => {
                let op = if sign == 1 { BinaryOp::Add } else { BinaryOp::Sub };
                return self.binary(op, lhs, rhs);
            }
        };
        let word = self.binary(BinaryOp::Add, &Word::Integer(value), &Word::Constant(constant));
        if let Word::Integer(sum) = word {
            let (base, offset) = self.builder.sums.get(&value).copied().unwrap_or((value, 0));
            self.builder.sums.insert(sum, (base, offset.wrapping_add(constant)));
        }
        word
    }

    /// `lhs >> count * sign`; the count must be a constant.
    fn shift(&mut self, lhs: &Word, count: &Word, sign: i64) -> Result<Word> {
        let Word::Constant(count) = count else {
            return self.fail("a shift by a variable: use shl, shr or sar");
        };
        let count = count * sign;
        if count.abs() > 63 {
            return self.fail("a shift by more than 63");
        }
        if let Word::Constant(value) = lhs {
            let bits = *value as u64;
            let shifted = if count < 0 { bits << -count } else { bits >> count };
            return Ok(Word::Constant(shifted as i64));
        }
        let op = if count < 0 { BinaryOp::Shl } else { BinaryOp::LShr };
        Ok(self.binary(op, lhs, &Word::Constant(count.abs())))
    }

    fn division(&mut self, opcode: Opcode, lhs: &Word, rhs: &Word) -> Result<Word> {
        let is_modulo = matches!(opcode, Opcode::Mod | Opcode::ModK);
        let divisor = match rhs {
            Word::Constant(divisor) if (1..=i64::from(i32::MAX)).contains(divisor) => *divisor,
            _ => {
                return self.fail("a division by what is no positive constant: use udiv, sdiv, umod or smod");
            }
        };
        if divisor & (divisor - 1) == 0 {
            let (op, by) = match is_modulo {
                true => (BinaryOp::And, divisor - 1),
                false => (BinaryOp::AShr, i64::from(divisor.trailing_zeros())),
            };
            return Ok(self.binary(op, lhs, &Word::Constant(by)));
        }
        let value = self.builder.value(lhs);
        let divisor = Operand::Imm(divisor as i32);
        let rest = self.builder.code.emit(Op::Binary(BinaryOp::SMod, value, divisor));
        let below = Condition::new(CompareOp::SLt, rest, 0);
        let below = self.builder.code.emit(Op::Compare(below));
        if is_modulo {
            let correction = self.builder.code.emit(Op::Binary(BinaryOp::Mul, below, divisor));
            let result = self.builder.code.emit(Op::Binary(BinaryOp::Add, rest, correction.into()));
            return Ok(Word::Integer(result));
        }
        let quotient = self.builder.code.emit(Op::Binary(BinaryOp::SDiv, value, divisor));
        Ok(Word::Integer(self.builder.code.emit(Op::Binary(BinaryOp::Sub, quotient, below.into()))))
    }
}
