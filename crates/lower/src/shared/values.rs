//! Values as bytes, and back.

use super::keys::{Unfit, has_text};
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::memory::VALUE_START;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::{CompareOp, Size};
use moonhook_shape::{Shape, Type};

/// A place in a key or value: an address and an offset behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub base: ir::Value,
    pub disp: i16,
}

/// Up to so many bytes of a string are copied without a loop.
const UNROLLED: usize = 128;

const HELPER_KTIME: u32 = 5;

impl Context<'_> {
    /// Makes the bytes of a value with its deadline; gives their address.
    pub(super) fn value_address(
        &mut self,
        shape: &Shape,
        value: &Abs,
        unfit: &mut Unfit,
    ) -> Result<ir::Value> {
        let base = self.room(shape.value_size(), has_text(&shape.value), VALUE_START)?;
        if let Some(lifetime) = shape.lifetime {
            let deadline = self.deadline(lifetime);
            self.store(base, 0, Size::B8, deadline);
        }
        self.put(Place { base, disp: shape.value_offset() as i16 }, &shape.value, value, unfit)?;
        Ok(base)
    }

    /// The time of `CLOCK_MONOTONIC` in nanoseconds.
    pub(super) fn now(&mut self) -> Word {
        self.helper(HELPER_KTIME, &[])
    }

    /// When what is assigned now is gone.
    pub(super) fn deadline(&mut self, lifetime: u64) -> Word {
        let now = self.now();
        self.add(now, lifetime as i64)
    }

    /// The value at a place, with one arm for each way of getting it.
    pub(super) fn value_arms(&mut self, at: Place, ty: &Type) -> Result<Vec<Arm>> {
        let word = |context: &mut Self, offset: i16| context.load(at.base, at.disp + offset, Size::B8, false);
        let value = match ty {
            Type::Boolean => {
                let word = word(self, 0);
                Abs::Bool(self.and(word, 1))
            }
            Type::Integer => Abs::Int(word(self, 0)),
            Type::Ipv4 => Abs::Str(Str::Ipv4(word(self, 0))),
            Type::Mac => Abs::Str(Str::Mac(word(self, 0))),
            Type::Address => {
                let (family, high, low) = (word(self, 0), word(self, 8), word(self, 16));
                let four = self.compare(CompareOp::Eq, family, 4);
                let (four, six) = self.split(four);
                return Ok(vec![
                    Arm { state: four, values: vec![Abs::Str(Str::Ipv4(low))] },
                    Arm { state: six, values: vec![Abs::Str(Str::Ipv6(high, low))] },
                ]);
            }
            Type::Text { capacity } => Abs::Str(self.text_at(at, usize::from(*capacity))?),
            // Prefixes are keys only.
            Type::Prefix4 | Type::Prefix6 | Type::Record(_) => Abs::Nil,
        };
        self.only(value)
    }

    /// A copy of the string at a place: the entry may change.
    fn text_at(&mut self, at: Place, capacity: usize) -> Result<Str> {
        let length = self.load(at.base, at.disp, Size::B4, false);
        let length = self.and(length, 2 * capacity.next_power_of_two() as i64 - 1);
        let start = self.allocate(Word::Imm(capacity.next_multiple_of(8) as i64))?;
        if capacity <= UNROLLED {
            for offset in (0..capacity).step_by(8) {
                self.copy_word(at, Word::Imm(offset as i64), start, capacity)?;
            }
        } else {
            let arms = self.repeat(&[Word::Imm(0)], &mut |context, variables| {
                let mut iteration = crate::loops::Iteration::default();
                let offset = variables[0];
                let done = context.compare(CompareOp::SGe, offset, length);
                let (done, more) = context.split(done);
                iteration.leave_in(done, vec![]);
                context.state = more;
                context.copy_word(at, offset, start, capacity)?;
                let next = context.add(offset, 8);
                iteration.again(context, vec![next]);
                Ok(iteration)
            })?;
            self.join(arms)?;
        }
        Ok(Str::Slice { space: Space::Scratch, start, length })
    }

    /// Copies the word at `offset` of the string at a place. Its bytes begin in the middle of a word, and the last one may be
    /// half of one.
    fn copy_word(&mut self, at: Place, offset: Word, start: Word, capacity: usize) -> Result<()> {
        let (word, place) = match offset {
            Word::Imm(imm) => {
                let left = capacity as i64 - imm;
                let disp = at.disp + 4 + imm as i16;
                let size = if left >= 8 { Size::B8 } else { Size::B4 };
                (self.load(at.base, disp, size, false), self.add(start, imm))
            }
            offset => {
                // Two halves, so that nothing behind the value is read.
                let mask = capacity.next_power_of_two() as i64 - 1;
                let address = self.masked(at.base, offset, mask & !7)?;
                let low = self.load(address.base, at.disp + 4, Size::B4, false);
                let high = self.load(address.base, at.disp + 8, Size::B4, false);
                let high = self.shl(high, 32);
                (self.binary(ir::BinaryOp::Or, low, high), self.add(start, offset))
            }
        };
        let target = self.address(Space::Scratch, place, 8)?;
        self.store(target.base, target.disp, Size::B8, word);
        Ok(())
    }
}
