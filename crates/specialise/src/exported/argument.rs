//! The second argument of handlers that C calls with memory of its own: a copy of that memory, in a map.
//!
//! A value of the map is laid out as a text of an entry is: how many bytes there are, in 4 bytes, and these.

use crate::context::{Context, Result};
use crate::message::Message;
use crate::value::{ARGUMENT_SIZE, Str, Word};
use moonhook_hook::Place;
use moonhook_ir as ir;
use moonhook_ir::helper::MAP_LOOKUP_ELEM;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};

/// What C can give at most, in bytes.
pub const MOST: usize = 256;

/// Where the bytes begin.
pub const BYTES: i16 = 4;

/// A power of two above [`MOST`]: the verifier takes a mask for the proof that an access is inside.
const MASK: i64 = 2 * MOST as i64 - 1;

/// Names the slot of the map's key.
const KEY: u32 = 13;

/// The map: one value for each CPU, longer than a masked offset and the widest access behind it.
pub fn definition() -> ir::MapDefinition {
    let value_size = (BYTES as u32 + MASK as u32 + 1 + 8).next_multiple_of(8);
    ir::MapDefinition {
        map_type: ir::MapType::PerCpuArray,
        key_size: 4,
        value_size,
        max_entries: 1,
        flags: 0,
    }
}

impl Context<'_> {
    /// Whether C gives the handlers' second argument.
    fn is_argument_given(&self) -> bool {
        let points = self.snapshot.points();
        points.get(self.target.program).is_some_and(|point| point.place == Place::Called)
    }

    /// Where C's memory is, if it gives the second argument.
    pub fn given_argument(&mut self) -> Result<Option<Address>> {
        if !self.is_argument_given() {
            return Ok(None);
        }
        let map = self.output.map(ir::maps::ARGUMENT, || ir::MapKind::Map(definition()));
        let slot = self.known.shared.slot(KEY, 8, &mut self.code.function);
        let key = self.emit(Op::SlotAddress(slot));
        self.store(key, 0, Size::B4, Word::Imm(0));
        let map = self.emit(Op::MapReference(map));
        let found = self.helper(MAP_LOOKUP_ELEM, &[map.into(), key.into()]);
        let missing = self.compare(CompareOp::Eq, found, 0);
        self.fail_if(missing, |context| context.fail(Message::bare("not enough memory")));
        Ok(Some(Address { base: self.value(found), disp: 0 }))
    }

    /// How many bytes the second argument has.
    pub fn argument_length(&mut self) -> Result<Word> {
        match self.given_argument()? {
            Some(at) => Ok(self.length_at(at)),
            None => Ok(Word::Imm(ARGUMENT_SIZE)),
        }
    }

    fn length_at(&mut self, at: Address) -> Word {
        let length = self.load(at.base, at.disp, Size::B4, false);
        self.and(length, MASK)
    }

    /// The number at an offset of C's memory, where so many bytes are there; `outside` is what happens where they are not.
    pub fn load_given(
        &mut self,
        at: Address,
        (offset, size, signed): (Word, Size, bool),
        outside: impl Fn(&mut Self),
    ) -> Option<Word> {
        let length = self.length_at(at);
        let far = self.compare(CompareOp::UGt, offset, MOST as i64);
        self.fail_if(far, &outside);
        let end = self.add(offset, size as i64);
        let beyond = self.compare(CompareOp::SGt, end, length);
        self.fail_if(beyond, &outside);
        if !self.alive() {
            return None;
        }
        let offset = self.and(offset, MASK);
        let offset = self.value(offset);
        let place = self.emit(Op::Binary(BinaryOp::Add, at.base, offset.into()));
        Some(self.load(place, at.disp + BYTES, size, signed))
    }

    /// `length` bytes from `offset` on of C's memory, which are there, as a string.
    pub fn text_given(&mut self, at: Address, (offset, length): (Word, Word)) -> Result<Str> {
        match self.text_at(at, MOST)? {
            Str::Slice { space, start, .. } => {
                let start = self.add(start, offset);
                Ok(Str::Slice { space, start, length })
            }
            whole => Ok(whole),
        }
    }
}
