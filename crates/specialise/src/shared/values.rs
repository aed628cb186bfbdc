//! Values as bytes, and back.

use super::keys::{Unfit, has_text};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::region::{UNROLLED, VALUE_START};
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_schema::{Schema, Type};

impl Context<'_> {
    /// Makes the bytes of a value with its deadline; gives their address.
    pub(super) fn value_address(
        &mut self,
        schema: &Schema,
        value: &Abs,
        unfit: &mut Unfit,
    ) -> Result<ir::Value> {
        let base = self.room(schema.value_size(), has_text(&schema.value), VALUE_START)?;
        if let Some(lifetime) = schema.lifetime {
            let deadline = self.deadline(lifetime);
            self.store(base, 0, Size::B8, deadline);
        }
        self.put(Address { base, disp: schema.value_offset() as i16 }, &schema.value, value, unfit)?;
        Ok(base)
    }

    /// When what is assigned now is gone.
    pub(super) fn deadline(&mut self, lifetime: u64) -> Word {
        let now = self.now();
        self.add(now, lifetime as i64)
    }

    /// The value at a place, with one arm for each way of getting it.
    pub(super) fn value_arms(&mut self, at: Address, ty: &Type) -> Result<Vec<Arm>> {
        let word = |context: &mut Self, offset: i16| context.word_of_entry(at.plus(offset));
        let value = match ty {
            Type::Boolean => {
                let word = word(self, 0);
                Abs::Bool(self.and(word, 1))
            }
            Type::Integer => Abs::Int(word(self, 0)),
            Type::Float => Abs::Float(word(self, 0)),
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
            Type::Text { capacity } => match self.state.facts.copied_at(&self.known.shared.additions, at) {
                Some(text @ Abs::Str(_)) => text,
                _ => Abs::Str(self.text_at(at, usize::from(*capacity))?),
            },
            Type::Mixed(mixed) => return self.mixed_arms(at, *mixed),
            // Prefixes are keys only.
            Type::Prefix4 | Type::Prefix6 | Type::Record(_) => Abs::Nil,
        };
        self.only(value)
    }

    /// A copy of the string at a place: the entry may change.
    pub fn text_at(&mut self, at: Address, capacity: usize) -> Result<Str> {
        let text = self.copied_text(at, capacity)?;
        self.around.shorten_copy(self, &text);
        Ok(text)
    }

    fn copied_text(&mut self, at: Address, capacity: usize) -> Result<Str> {
        let length = self.load(at.base, at.disp, Size::B4, false);
        let length = self.and(length, 2 * capacity.next_power_of_two() as i64 - 1);
        let start = self.allocate(Word::Imm(capacity.next_multiple_of(8) as i64))?;
        if capacity <= UNROLLED {
            for offset in (0..capacity).step_by(8) {
                self.copy_part(at, offset, start, capacity)?;
            }
            return Ok(Str::Slice { space: Space::Scratch, start, length });
        }
        // Half a word follows the whole ones.
        let half = Type::Text { capacity: capacity as u16 }.size() - 8;
        let arms = self.repeat(&[Word::Imm(0)], &mut |context, variables| {
            let mut iteration = crate::loops::Iteration::default();
            let offset = variables[0];
            // The second one proves to the verifier that the word lies within.
            for (op, end) in [(CompareOp::SGe, length), (CompareOp::UGt, Word::Imm(half as i64 - 8))] {
                let done = context.compare(op, offset, end);
                let (done, more) = context.split(done);
                iteration.leave_in(done, vec![]);
                context.state = more;
            }
            let from = context.value(offset);
            let from = context.emit(Op::Binary(BinaryOp::Add, at.base, from.into()));
            let word = context.load(from, at.disp + 4, Size::B8, false);
            let to = context.add(start, offset);
            let to = context.address(Space::Scratch, to, 8)?;
            context.store(to.base, to.disp, Size::B8, word);
            let next = context.add(offset, 8);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join(arms)?;
        if half < capacity {
            self.copy_part(at, half, start, capacity)?;
        }
        Ok(Str::Slice { space: Space::Scratch, start, length })
    }

    /// Copies the word at `offset` of the string at a place. Its bytes begin in the middle of a word, and the last one may be
    /// half of one.
    fn copy_part(&mut self, at: Address, offset: usize, start: Word, capacity: usize) -> Result<()> {
        let size = if capacity - offset > 4 { Size::B8 } else { Size::B4 };
        let word = self.load(at.base, at.disp + 4 + offset as i16, size, false);
        let to = self.add(start, offset as i64);
        let to = self.address(Space::Scratch, to, 8)?;
        self.store(to.base, to.disp, Size::B8, word);
        Ok(())
    }
}
