//! Intervals of words, unsigned and signed at once, and what comparisons with constants say about them.

use moonhook_ir::{CompareOp, eval::compare};

/// The words between these bounds, all inclusive, of both orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    umin: u64,
    umax: u64,
    smin: i64,
    smax: i64,
}

impl Interval {
    pub const FULL: Interval = Interval { umin: 0, umax: u64::MAX, smin: i64::MIN, smax: i64::MAX };

    /// Words without bits outside `bits`.
    pub fn of_bits(bits: u64) -> Interval {
        let mut range = Interval { umax: bits, ..Interval::FULL };
        range.exchange();
        range
    }

    /// The words of this range for which the comparison with `by` holds; a superset where that is not a range. A range
    /// that comes out empty belongs to code that is never reached.
    pub fn restrict(&mut self, op: CompareOp, by: u64) {
        let signed = by as i64;
        match op {
            CompareOp::Eq => *self = Interval { umin: by, umax: by, smin: signed, smax: signed },
            CompareOp::ULt => self.umax = self.umax.min(by.saturating_sub(1)),
            CompareOp::ULe => self.umax = self.umax.min(by),
            CompareOp::UGt => self.umin = self.umin.max(by.saturating_add(1)),
            CompareOp::UGe => self.umin = self.umin.max(by),
            CompareOp::SLt => self.smax = self.smax.min(signed.saturating_sub(1)),
            CompareOp::SLe => self.smax = self.smax.min(signed),
            CompareOp::SGt => self.smin = self.smin.max(signed.saturating_add(1)),
            CompareOp::SGe => self.smin = self.smin.max(signed),
            CompareOp::Ne => self.exclude(by),
            CompareOp::Test => self.umin = self.umin.max(1),
        }
        self.exchange();
    }

    fn exclude(&mut self, by: u64) {
        if self.umin == by {
            self.umin = by.saturating_add(1);
        }
        if self.umax == by {
            self.umax = by.saturating_sub(1);
        }
    }

    /// Lets each order's bounds tighten the other's where all words have the same sign.
    fn exchange(&mut self) {
        if self.umax <= i64::MAX as u64 || self.umin > i64::MAX as u64 {
            self.smin = self.smin.max(self.umin as i64);
            self.smax = self.smax.min(self.umax as i64);
        }
        if self.smin >= 0 || self.smax < 0 {
            self.umin = self.umin.max(self.smin as u64);
            self.umax = self.umax.min(self.smax as u64);
        }
    }

    /// Whether the comparison with `by` holds for all words of the range, for none, or for some (`None`).
    pub fn decide(&self, op: CompareOp, by: u64) -> Option<bool> {
        let signed = by as i64;
        let (low, high) = match op {
            CompareOp::Eq | CompareOp::Ne => {
                let outside = by < self.umin || by > self.umax || signed < self.smin || signed > self.smax;
                return match outside {
                    true => Some(op == CompareOp::Ne),
                    false if self.umin == self.umax => Some(op == CompareOp::Eq),
                    false => None,
                };
            }
            CompareOp::Test if self.umin != self.umax => return None,
            CompareOp::SLt | CompareOp::SLe | CompareOp::SGt | CompareOp::SGe => {
                (self.smin as u64, self.smax as u64)
            }
            _ => (self.umin, self.umax),
        };
        let (first, last) = (compare(op, low, by), compare(op, high, by));
        (first == last).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_and_restricts() {
        use CompareOp::*;
        let mut range = Interval::of_bits(0xff);
        assert_eq!(range.decide(UGt, 255), Some(false));
        assert_eq!(range.decide(SGe, 0), Some(true));
        assert_eq!(range.decide(ULt, 200), None);
        range.restrict(UGt, 10);
        assert_eq!(range.decide(Eq, 10), Some(false));
        assert_eq!(range.decide(SLe, 10), Some(false));
        range.restrict(SLe, 11);
        assert_eq!(range.decide(Eq, 11), Some(true));
        let mut negative = Interval::FULL;
        negative.restrict(SLt, 0);
        assert_eq!(negative.decide(ULt, 5), Some(false));
        assert_eq!(negative.decide(Ne, 0), Some(true));
    }
}
