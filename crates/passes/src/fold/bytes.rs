//! Where the bytes of a value come from: what swaps, shifts, masks and sums have moved about and put back where it was is the value that it was.

use super::{Folder, Outcome};
use crate::values::Definition;
use moonhook_ir::{BinaryOp::*, UnaryOp::*, *};

/// A byte of a value, the lowest first: 0, or a byte of another value by its number.
type Byte = Option<(Value, u8)>;

/// Operations within one another that are looked into.
const DEPTH: u32 = 6;

impl Folder<'_> {
    /// What swapped bytes are in one operation, if they are bytes in a row of one value.
    pub(super) fn of_bytes(&self, op: UnaryOp, value: Value) -> Outcome {
        let mut outcomes = (1..=DEPTH).map(|depth| self.in_a_row(op, value, depth));
        outcomes.find(|outcome| !matches!(outcome, Outcome::Same)).unwrap_or(Outcome::Same)
    }

    fn in_a_row(&self, op: UnaryOp, value: Value, depth: u32) -> Outcome {
        let Some(bytes) = swapped(op, self.bytes(value, depth)) else { return Outcome::Same };
        let Some((source, first)) = bytes[0] else { return Outcome::Same };
        let count = bytes.iter().take_while(|byte| byte.is_some()).count();
        let in_a_row = (0..8).all(|at| bytes[at] == (at < count).then_some((source, first + at as u8)));
        if !in_a_row || source == value {
            return Outcome::Same;
        }
        let is_end = self.width(source) <= usize::from(first) + count;
        match (first, count) {
            (0, _) if is_end => Outcome::Value(source),
            (_, _) if is_end => Outcome::Op(Op::Binary(LShr, source, Operand::Imm(8 * i32::from(first)))),
            (0, 2) => Outcome::Op(Op::Binary(And, source, Operand::Imm(0xffff))),
            (0, 4) => Outcome::Op(Op::Unary(ZeroExtend32, source)),
            _ => Outcome::Same,
        }
    }

    fn bytes(&self, value: Value, depth: u32) -> [Byte; 8] {
        let moved = if depth > 0 { self.moved(value, depth - 1) } else { None };
        moved.unwrap_or_else(|| {
            std::array::from_fn(|at| (self.width(value) > at).then_some((value, at as u8)))
        })
    }

    /// The bytes of a value that an operation makes of others by moving them; `None` of all other values.
    fn moved(&self, value: Value, depth: u32) -> Option<[Byte; 8]> {
        match self.definition(value) {
            Definition::Unary(op, from) => swapped(op, self.bytes(from, depth)),
            Definition::Binary(op @ (Shl | LShr), from, Operand::Imm(by))
                if matches!(by, 8 | 16 | 24 | 32 | 40 | 48 | 56) =>
            {
                let (from, by) = (self.bytes(from, depth), by as usize / 8);
                Some(std::array::from_fn(|at| match op {
                    Shl => at.checked_sub(by).and_then(|at| from[at]),
                    _ => from.get(at + by).copied().flatten(),
                }))
            }
            Definition::Binary(And, from, mask) => {
                let (from, mask) = (self.bytes(from, depth), self.constant_operand(mask)?.to_le_bytes());
                let is_of_bytes = mask.iter().all(|byte| matches!(byte, 0 | 0xff));
                is_of_bytes.then(|| std::array::from_fn(|at| from[at].filter(|_| mask[at] == 0xff)))
            }
            // Where no two bytes meet, a sum carries nothing.
            Definition::Binary(Add | Or | Xor, lhs, Operand::Value(rhs)) => {
                let (lhs, rhs) = (self.bytes(lhs, depth), self.bytes(rhs, depth));
                let is_apart = lhs.iter().zip(&rhs).all(|(one, other)| one.is_none() || other.is_none());
                is_apart.then(|| std::array::from_fn(|at| lhs[at].or(rhs[at])))
            }
            _ => None,
        }
    }

    /// Bytes of a value that can be other than 0.
    fn width(&self, value: Value) -> usize {
        (64 - self.bits[value.index()].leading_zeros() as usize).div_ceil(8)
    }
}

fn swapped(op: UnaryOp, bytes: [Byte; 8]) -> Option<[Byte; 8]> {
    let width = match op {
        Swap16 => 2,
        Swap32 | ZeroExtend32 => 4,
        Swap64 => 8,
        _ => return None,
    };
    let from = |at| if op == ZeroExtend32 { bytes[at] } else { bytes[width - 1 - at] };
    Some(std::array::from_fn(|at| if at < width { from(at) } else { None }))
}
