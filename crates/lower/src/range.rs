//! What is known of a word before packet time: its bounds, and conditions on it.

use moonhook_ir as ir;
use moonhook_ir::BinaryOp;

/// What is known of a word as a signed number. Only what the kernel's verifier tracks too may be claimed here, because
/// checks that the verifier needs are left out on the strength of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    pub min: i64,
    pub max: i64,
}

impl Range {
    pub const FULL: Range = Range { min: i64::MIN, max: i64::MAX };

    pub fn exactly(value: i64) -> Range {
        Range { min: value, max: value }
    }

    pub fn up_to(max: i64) -> Range {
        Range { min: 0, max }
    }

    pub fn join(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub fn within(self, min: i64, max: i64) -> bool {
        min <= self.min && self.max <= max
    }
}

/// A condition: known now, or to be tested.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cond {
    Known(bool),
    Test(ir::Condition),
}

pub fn range_of_binary(op: BinaryOp, a: Range, b: Range) -> Range {
    let checked = |min: Option<i64>, max: Option<i64>| match (min, max) {
        (Some(min), Some(max)) => Range { min, max },
        _ => Range::FULL,
    };
    // The next power of two, less one: what the verifier's tracked bits bound an `or` by.
    let bits = |max: i64| ((max as u64 + 1).next_power_of_two() - 1) as i64;
    let small = |r: Range| r.within(0, i64::from(u32::MAX));
    match op {
        BinaryOp::Add => checked(a.min.checked_add(b.min), a.max.checked_add(b.max)),
        BinaryOp::Sub => checked(a.min.checked_sub(b.max), a.max.checked_sub(b.min)),
        BinaryOp::Mul if small(a) && small(b) => checked(a.min.checked_mul(b.min), a.max.checked_mul(b.max)),
        BinaryOp::And if b.min == b.max && b.min >= 0 => {
            Range::up_to(b.max.min(if a.min >= 0 { a.max } else { b.max }))
        }
        BinaryOp::Or | BinaryOp::Xor if small(a) && small(b) => Range::up_to(bits(a.max.max(b.max))),
        BinaryOp::Shl if small(a) && b.min == b.max && (0..31).contains(&b.min) => {
            Range { min: a.min << b.min, max: a.max << b.min }
        }
        BinaryOp::LShr if a.min >= 0 && b.min == b.max && (0..64).contains(&b.min) => {
            Range { min: a.min >> b.min, max: a.max >> b.min }
        }
        BinaryOp::LShr if b.min == b.max && (1..64).contains(&b.min) => {
            Range::up_to((u64::MAX >> b.min) as i64)
        }
        _ => Range::FULL,
    }
}
