//! What is known of a word before packet time: its bounds, and conditions on it.

use crate::{BinaryOp, Condition};

/// What is known of a word as a signed number. Only what the kernel's verifier tracks too may be claimed here, because
/// checks that the verifier needs are left out on the strength of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    pub min: i64,
    pub max: i64,
    /// The oldest value that the bounds are computed from: a loop behind it may get a copy of it of which nothing is known
    /// (`invariants.rs`). [`Range::WIDENED`] where the passes may leave the verifier other bounds.
    pub since: u32,
}

impl Range {
    pub const FULL: Range = Range { min: i64::MIN, max: i64::MAX, since: Range::OWN };

    /// The bounds are computed from no other value.
    const OWN: u32 = u32::MAX;

    /// The bounds are those of a difference. Of what it is the difference of, the passes may leave the verifier no more than bits
    /// (`converge`, `bound`): 14 … 22 becomes 0 … 31.
    const WIDENED: u32 = 0;

    pub fn exactly(value: i64) -> Range {
        Range { min: value, max: value, ..Range::FULL }
    }

    pub fn up_to(max: i64) -> Range {
        Range { min: 0, max, ..Range::FULL }
    }

    pub fn join(self, other: Range) -> Range {
        let since = self.since.min(other.since);
        Range { min: self.min.min(other.min), max: self.max.max(other.max), since }
    }

    pub fn within(self, min: i64, max: i64) -> bool {
        min <= self.min && self.max <= max
    }

    /// Whether the verifier sees the bounds in a loop whose values are those from `start` on; 0 where there is no loop.
    pub fn is_seen_in(self, start: u32) -> bool {
        self.since != Range::WIDENED && self.since >= start
    }

    /// The smallest mask that leaves every number as it is; none is negative.
    pub fn mask(self) -> i64 {
        ((self.max as u64 + 1).next_power_of_two() - 1) as i64
    }
}

/// A condition: known now, or to be tested.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cond {
    Known(bool),
    Test(Condition),
}

pub(super) fn range_of_binary(op: BinaryOp, a: Range, b: Range) -> Range {
    let negative = a.min < 0 || b.min < 0;
    let since = match op {
        BinaryOp::Sub => Range::WIDENED,
        BinaryOp::Add if negative => Range::WIDENED,
        _ => a.since.min(b.since),
    };
    let checked = |min: Option<i64>, max: Option<i64>| match (min, max) {
        (Some(min), Some(max)) => Range { min, max, since },
        _ => Range::FULL,
    };
    let small = |r: Range| r.within(0, i64::from(u32::MAX));
    match op {
        BinaryOp::Add => checked(a.min.checked_add(b.min), a.max.checked_add(b.max)),
        BinaryOp::Sub => checked(a.min.checked_sub(b.max), a.max.checked_sub(b.min)),
        BinaryOp::Mul if small(a) && small(b) => checked(a.min.checked_mul(b.min), a.max.checked_mul(b.max)),
        BinaryOp::And if b.min == b.max && b.min >= 0 => match a.min >= 0 && a.max < b.max {
            true => Range { min: 0, ..a },
            false => Range::up_to(b.max),
        },
        // What the verifier's tracked bits bound it by.
        BinaryOp::Or | BinaryOp::Xor if small(a) && small(b) => {
            Range { since, ..Range::up_to(a.join(b).mask()) }
        }
        BinaryOp::Shl if small(a) && b.min == b.max && (0..31).contains(&b.min) => {
            Range { min: a.min << b.min, max: a.max << b.min, since }
        }
        BinaryOp::LShr if a.min >= 0 && b.min == b.max && (0..64).contains(&b.min) => {
            Range { min: a.min >> b.min, max: a.max >> b.min, since }
        }
        BinaryOp::LShr if b.min == b.max && (1..64).contains(&b.min) => {
            Range::up_to((u64::MAX >> b.min) as i64)
        }
        _ => Range::FULL,
    }
}
