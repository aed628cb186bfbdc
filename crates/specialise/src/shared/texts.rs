//! Strings as bytes of keys and values: length, bytes, zeros.

use crate::context::{Context, Result};
use crate::region::UNROLLED;
use crate::shared::map_calls::zero;
use crate::strings::Slice;
use crate::value::{Space, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{BinaryOp, Op, Size, UnaryOp};
use moonhook_packet::{Access, MAX_FRAME};
use moonhook_schema::Type;

impl Context<'_> {
    /// Writes a string of at most `capacity` bytes.
    pub(super) fn put_slice(&mut self, at: Address, capacity: usize, slice: Slice) -> Result<()> {
        let Slice { space, start, .. } = slice;
        if capacity > UNROLLED || !self.around.has_pool() || !self.state.alive() {
            return self.put_by_steps(at, capacity, slice);
        }
        let bytes = Type::Text { capacity: capacity as u16 }.size() - 4;
        let (from, outside) = match space {
            Space::Packet => {
                let start = match self.with_bounds(start, MAX_FRAME) {
                    Some(start) => start,
                    None => self.and(start, MAX_FRAME),
                };
                // What the verifier learns of a copy does not tell the paths apart behind it.
                let copy = match start {
                    Word::Value(_) => self.unary(UnaryOp::Unlink, start),
                    start => start,
                };
                self.locate(copy, bytes as u32)?
            }
            space => (self.address(space, start, bytes as u32)?, vec![]),
        };
        let mut done = Vec::new();
        if self.state.alive() {
            self.put_at_once(at, capacity, from, slice)?;
            done.push(self.take_state());
        }
        if !outside.is_empty() {
            self.enter(outside)?;
            self.make_cold();
            self.put_by_steps(at, capacity, slice)?;
            done.push(self.take_state());
        }
        self.enter(done)
    }

    /// Where all bytes of a key can be read, however long the string is: all of them, and those behind its end are cut off.
    fn put_at_once(&mut self, at: Address, capacity: usize, from: Address, slice: Slice) -> Result<()> {
        let Slice { length, case, .. } = slice;
        // As many ones as a string can have bytes, and zeros: the ones that are read stand for the bytes that remain.
        let reach = capacity.next_power_of_two() * 2 - 1;
        let bytes = Type::Text { capacity: capacity as u16 }.size() - 4;
        let mut ones = vec![0xff; capacity];
        ones.resize(reach + bytes, 0);
        let offset = self.output.pool.intern(&ones);
        let ones = self.emit(Op::DataAddress { map: self.output.pool_map, offset });
        let skipped = self.sub(capacity as i64, length);
        let ones = self.masked(ones, skipped, reach as i64);
        self.store(at.base, at.disp, Size::B4, length);
        for offset in (0..bytes).step_by(8) {
            let size = if bytes - offset >= 8 { Size::B8 } else { Size::B4 };
            let word = self.load_at(from.plus(offset as i16), size, false);
            let kept = self.load_at(ones.plus(offset as i16), size, false);
            let word = self.in_case(word, case);
            let word = self.and(word, kept);
            self.store(at.base, at.disp + 4 + offset as i16, size, word);
        }
        Ok(())
    }

    fn put_by_steps(&mut self, at: Address, capacity: usize, slice: Slice) -> Result<()> {
        zero(self, at, Type::Text { capacity: capacity as u16 }.size());
        self.store(at.base, at.disp, Size::B4, slice.length);
        let bytes = self.emit(Op::Binary(BinaryOp::Add, at.base, ir::Operand::Imm(i32::from(at.disp) + 4)));
        let mask = capacity.next_power_of_two() as i64 - 1;
        self.copy_slice(slice, &mut |context, at| -> Result<Address> { Ok(context.masked(bytes, at, mask)) })
    }
}
