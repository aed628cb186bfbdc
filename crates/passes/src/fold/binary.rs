//! Rules for two operands.

use super::{Folder, Outcome};
use crate::values::Definition;
use moonhook_ir::{BinaryOp::*, *};

impl Folder<'_> {
    pub(super) fn binary(&self, op: BinaryOp, lhs: Value, rhs: Operand) -> Outcome {
        match (self.constant(lhs), self.constant_operand(rhs)) {
            (Some(a), Some(b)) => constant(eval::binary(op, a as u64, b as u64) as i64),
            (Some(_), None) => match rhs {
                Operand::Value(rhs) if is_commutative(op) => Outcome::Op(Op::Binary(op, rhs, lhs.into())),
                _ => Outcome::Same,
            },
            (None, Some(by)) => self.by_constant(op, lhs, rhs, by),
            (None, None) if rhs == Operand::Value(lhs) => match op {
                Sub | Xor | UMod | SMod => constant(0),
                And | Or => Outcome::Value(lhs),
                _ => Outcome::Same,
            },
            (None, None) => Outcome::Same,
        }
    }

    fn by_constant(&self, op: BinaryOp, lhs: Value, rhs: Operand, by: i64) -> Outcome {
        match identity(op, lhs, by) {
            Outcome::Same => {}
            outcome => return outcome,
        }
        if op == And && self.bits[lhs.index()] & !(by as u64) == 0 {
            return Outcome::Value(lhs);
        }
        if (op, by) == (Xor, 1)
            && let Definition::Compare(condition) = self.definition(lhs)
            && let Some(op) = condition.op.negated()
            && self.epochs[lhs.index()] == self.epoch
        {
            return Outcome::Op(Op::Compare(Condition { op, ..condition }));
        }
        if let (Add, Definition::Data { map, offset }) = (op, self.definition(lhs))
            && let Some(size) = self.maps.get(map.0 as usize).and_then(|map| map.kind.data_size())
            && let Some(sum) = i64::from(offset).checked_add(by)
            && let Ok(offset) = u32::try_from(sum)
            && (offset as usize) < size
        {
            return Outcome::Op(Op::DataAddress { map, offset });
        }
        if let Some(op) = self.reassociate(op, lhs, by) {
            return Outcome::Op(op);
        }
        match (rhs, i32::try_from(by)) {
            (Operand::Value(_), Ok(imm)) => Outcome::Op(Op::Binary(op, lhs, Operand::Imm(imm))),
            _ => Outcome::Same,
        }
    }

    /// `(x op a) op b` where nothing else uses `x op a`, and so nothing has checked it.
    fn reassociate(&self, op: BinaryOp, lhs: Value, by: i64) -> Option<Op> {
        let Definition::Binary(inner, base, Operand::Imm(first)) = self.definition(lhs) else { return None };
        if inner != op || !self.is_used_once(lhs) {
            return None;
        }
        let first = first as i64;
        let both = match op {
            Add => first.checked_add(by)?,
            And => first & by,
            Or => first | by,
            Xor => first ^ by,
            Shl | LShr if first + by < 64 => first + by,
            _ => return None,
        };
        Some(Op::Binary(op, base, Operand::Imm(both.try_into().ok()?)))
    }
}

fn constant(value: i64) -> Outcome {
    Outcome::Op(Op::Const(value))
}

fn is_commutative(op: BinaryOp) -> bool {
    matches!(op, Add | Mul | And | Or | Xor)
}

/// What holds whatever `lhs` is, and cheaper operations with the same result.
fn identity(op: BinaryOp, lhs: Value, by: i64) -> Outcome {
    let with = |op, imm: i64| match imm.try_into() {
        Ok(imm) => Outcome::Op(Op::Binary(op, lhs, Operand::Imm(imm))),
        Err(_) => Outcome::Same,
    };
    let power = (by as u64).is_power_of_two().then(|| by.trailing_zeros() as i64);
    match (op, by) {
        (Add | Sub | Or | Xor | Shl | LShr | AShr, 0) => Outcome::Value(lhs),
        (Mul | UDiv | SDiv, 1) | (And, -1) | (UMod | SMod, 0) => Outcome::Value(lhs),
        (Mul | And | UDiv | SDiv, 0) | (UMod, 1) | (SMod, 1 | -1) => constant(0),
        (Or, -1) => constant(-1),
        (Mul | SDiv, -1) => Outcome::Op(Op::Unary(UnaryOp::Neg, lhs)),
        // i32::MIN has no negative among immediates.
        (Sub, _) => by.checked_neg().map_or(Outcome::Same, |by| with(Add, by)),
        (Shl | LShr | AShr, _) if !(0..64).contains(&by) => with(op, by & 63),
        (Mul, _) => power.map_or(Outcome::Same, |shift| with(Shl, shift)),
        (UDiv, _) => power.map_or(Outcome::Same, |shift| with(LShr, shift)),
        (UMod, _) => power.map_or(Outcome::Same, |_| with(And, by.wrapping_sub(1))),
        _ => Outcome::Same,
    }
}
