//! Rules for conditions, of comparisons and of branches.

use super::Folder;
use crate::interval::Interval;
use crate::values::Definition;
use moonhook_ir::{CompareOp::*, *};

pub(super) enum Verdict {
    Same,
    Known(bool),
    /// Holds exactly if the old condition does (`flipped`: does not).
    Condition {
        condition: Condition,
        flipped: bool,
    },
}

impl Folder<'_> {
    pub(super) fn condition(&self, condition: Condition) -> Verdict {
        let Condition { op, lhs, rhs } = condition;
        match (self.constant(lhs), self.constant_operand(rhs)) {
            (Some(a), Some(b)) => Verdict::Known(eval::compare(op, a as u64, b as u64)),
            (Some(_), None) => match rhs {
                Operand::Value(rhs) => replace(Condition::new(op.swapped(), rhs, lhs)),
                Operand::Imm(_) => Verdict::Same,
            },
            (None, Some(by)) => self.with_constant(condition, by),
            (None, None) if rhs == Operand::Value(lhs) => match op {
                Eq | ULe | UGe | SLe | SGe => Verdict::Known(true),
                Ne | ULt | UGt | SLt | SGt => Verdict::Known(false),
                Test => replace(Condition::new(Ne, lhs, 0)),
            },
            (None, None) => Verdict::Same,
        }
    }

    fn with_constant(&self, condition: Condition, by: i64) -> Verdict {
        let Condition { op, lhs, rhs } = condition;
        let bits = self.bits[lhs.index()];
        if op == Test && bits & by as u64 == 0 {
            return Verdict::Known(false);
        }
        if let Some(holds) = Interval::of_bits(bits).decide(op, by as u64) {
            return Verdict::Known(holds);
        }
        if let Some(verdict) = self.of_comparison(op, lhs, by).or_else(|| self.of_swapped(op, lhs, by)) {
            return verdict;
        }
        // `x & mask` against 0 is a test, unless something else needs `x & mask` anyway.
        if let (Eq | Ne, 0, Definition::Binary(BinaryOp::And, value, mask)) = (op, by, self.definition(lhs))
            && self.is_used_once(lhs)
        {
            let condition = Condition::new(Test, value, mask);
            return Verdict::Condition { condition, flipped: op == Eq };
        }
        // So is a test of what has been shifted, with the mask shifted back.
        if let (Test, Definition::Binary(BinaryOp::LShr, value, Operand::Imm(shift @ 0..32))) =
            (op, self.definition(lhs))
            && self.is_used_once(lhs)
            && let Ok(mask) = i32::try_from(i128::from(by) << shift)
            && mask >= 0
        {
            return replace(Condition::new(Test, value, mask));
        }
        // A shift that loses no bits changes nothing about being 0.
        if let (Eq | Ne, 0, Definition::Binary(BinaryOp::Shl, value, Operand::Imm(shift))) =
            (op, by, self.definition(lhs))
            && self.is_used_once(lhs)
            && self.bits[value.index()].leading_zeros() >= (shift & 63) as u32
        {
            return replace(Condition::new(op, value, 0));
        }
        match (rhs, i32::try_from(by)) {
            (Operand::Value(_), Ok(imm)) => replace(Condition::new(op, lhs, imm)),
            _ => Verdict::Same,
        }
    }

    /// Comparing swapped bytes with a constant, or testing bits of them, is that with the swapped constant.
    fn of_swapped(&self, op: CompareOp, lhs: Value, by: i64) -> Option<Verdict> {
        let Definition::Unary(swap, value) = self.definition(lhs) else { return None };
        if !matches!(op, Eq | Ne | Test) {
            return None;
        }
        let (by, width) = match swap {
            UnaryOp::Swap16 => (i64::from(u16::try_from(by).ok()?.swap_bytes()), 0xffff),
            UnaryOp::Swap32 => (i64::from(u32::try_from(by).ok()?.swap_bytes()), 0xffff_ffff),
            _ => return None,
        };
        let whole = self.bits[value.index()] & !width == 0;
        (whole && self.is_used_once(lhs)).then_some(())?;
        Some(replace(Condition::new(op, value, i32::try_from(by).ok()?)))
    }

    /// A condition on the result of a comparison is that comparison. Its operands may be packet pointers, so nothing
    /// may have invalidated those since.
    fn of_comparison(&self, op: CompareOp, lhs: Value, by: i64) -> Option<Verdict> {
        let Definition::Compare(condition) = self.definition(lhs) else { return None };
        if self.epochs[lhs.index()] != self.epoch {
            return None;
        }
        let flipped = match (op, by) {
            (Ne, 0) | (Eq, 1) | (Test, 1) => false,
            (Eq, 0) | (Ne, 1) => true,
            _ => return None,
        };
        Some(Verdict::Condition { condition, flipped })
    }
}

fn replace(condition: Condition) -> Verdict {
    Verdict::Condition { condition, flipped: false }
}
