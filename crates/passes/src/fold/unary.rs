//! Rules for one operand.

use super::{Folder, Outcome};
use crate::values::Definition;
use moonhook_ir::{UnaryOp::*, *};

impl Folder<'_> {
    pub(super) fn unary(&self, op: UnaryOp, value: Value) -> Outcome {
        if matches!(op, Unlink | Arena) {
            return Outcome::Same;
        }
        if let Some(word) = self.constant(value) {
            return Outcome::Op(Op::Const(eval::unary(op, word as u64) as i64));
        }
        let bits = self.bits[value.index()];
        match (op, self.definition(value)) {
            (Neg, Definition::Unary(Neg, inner)) => Outcome::Value(inner),
            (Swap64, Definition::Unary(Swap64, inner)) => Outcome::Value(inner),
            (Swap32, Definition::Unary(Swap32, inner)) => Outcome::Op(Op::Unary(ZeroExtend32, inner)),
            (Swap16, Definition::Unary(Swap16, inner)) => {
                Outcome::Op(Op::Binary(BinaryOp::And, inner, Operand::Imm(0xffff)))
            }
            // Swaps read the low bits only, and the verifier forgets what it knew of them.
            (Swap16 | Swap32, Definition::Binary(BinaryOp::And, inner, Operand::Imm(mask)))
                if low_bits(op) & !(mask as i64 as u64) == 0 =>
            {
                Outcome::Op(Op::Unary(op, inner))
            }
            (Swap32, Definition::Unary(ZeroExtend32, inner)) => Outcome::Op(Op::Unary(op, inner)),
            (ZeroExtend32, _) if bits <= low_bits(op) => Outcome::Value(value),
            (SignExtend8 | SignExtend16 | SignExtend32, Definition::Load { size, signed: true, .. })
                if u64::MAX >> (64 - 8 * size as u32) <= low_bits(op) =>
            {
                Outcome::Value(value)
            }
            (SignExtend8 | SignExtend16 | SignExtend32, _) if bits <= low_bits(op) >> 1 => {
                Outcome::Value(value)
            }
            (Swap16 | Swap32 | Swap64, _) => self.of_bytes(op, value),
            _ => Outcome::Same,
        }
    }
}

/// The bits that the operation reads.
fn low_bits(op: UnaryOp) -> u64 {
    match op {
        SignExtend8 => 0xff,
        Swap16 | SignExtend16 => 0xffff,
        Swap32 | SignExtend32 | ZeroExtend32 => 0xffff_ffff,
        Neg | Swap64 | Unlink | Arena => u64::MAX,
    }
}
