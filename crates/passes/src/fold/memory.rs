//! Rules for loads, stores and atomics.

use super::{Folder, Outcome};
use crate::values::Definition;
use moonhook_ir::*;

impl Folder<'_> {
    pub(super) fn memory(&self, op: &Op) -> Outcome {
        if let Some(value) = self.load_of_constant(op) {
            return Outcome::Op(Op::Const(value));
        }
        let mut new = op.clone();
        let (Op::Load { base, disp, .. } | Op::Store { base, disp, .. } | Op::Atomic { base, disp, .. }) =
            &mut new
        else {
            return Outcome::Same;
        };
        let mut changed = false;
        // A pointer plus a constant has the verifier's bounds of the pointer itself, so any of the two can be the base.
        while let Definition::Binary(BinaryOp::Add, inner, Operand::Imm(imm)) = self.definition(*base)
            && let Ok(sum) = i16::try_from(imm as i64 + *disp as i64)
        {
            (*base, *disp) = (inner, sum);
            changed = true;
        }
        if let Op::Store { size, value: Operand::Value(value), .. } = &mut new
            && let Some(inner) = self.stored(*size, *value)
        {
            *value = inner;
            changed = true;
        }
        if let Op::Store { size, value, .. } = &mut new
            && let Operand::Value(source) = *value
            && let Some(constant) = self.constant(source)
            && let Some(imm) = store_immediate(*size, constant)
        {
            *value = Operand::Imm(imm);
            changed = true;
        }
        if changed { Outcome::Op(new) } else { Outcome::Same }
    }

    /// Of which value the lowest bytes, as many as are stored, are those of `value`, if it only lacks what is above them.
    fn stored(&self, size: Size, value: Value) -> Option<Value> {
        let stored = u64::MAX >> (64 - 8 * size as u32);
        match self.definition(value) {
            Definition::Unary(UnaryOp::ZeroExtend32 | UnaryOp::SignExtend32, inner) if size != Size::B8 => {
                Some(inner)
            }
            Definition::Binary(BinaryOp::And, inner, Operand::Imm(mask))
                if stored & !(mask as i64 as u64) == 0 =>
            {
                Some(inner)
            }
            _ => None,
        }
    }

    /// What a load from read-only data at a constant address gives.
    fn load_of_constant(&self, op: &Op) -> Option<i64> {
        let &Op::Load { size, signed, base, disp } = op else { return None };
        let Definition::Data { map, offset } = self.definition(base) else { return None };
        let MapKind::ReadOnlyData(bytes) = &self.maps.get(map.0 as usize)?.kind else { return None };
        let from = usize::try_from(i64::from(offset) + i64::from(disp)).ok()?;
        let bytes = bytes.get(from..from.checked_add(size as usize)?)?;
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        let unused = 64 - 8 * size as u32;
        Some(if signed { (word << unused) as i64 >> unused } else { word as i64 })
    }
}

/// The immediate whose low bytes are the constant's, as many as are stored.
fn store_immediate(size: Size, constant: i64) -> Option<i32> {
    match size {
        Size::B8 => constant.try_into().ok(),
        Size::B4 => Some(constant as i32),
        Size::B2 => Some(constant as i16 as i32),
        Size::B1 => Some(constant as i8 as i32),
    }
}
