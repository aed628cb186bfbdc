//! Frames in several buffers (multi-buffer XDP): only the first buffer lies between the packet's start and end. Such a
//! frame is copied to memory, as far as the kernel hands its bytes out (the first 64 KiB), and the handlers' code stands a second
//! time, for the copy. Writes go to the frame as well, at once, so that an error leaves what was written before it.

use crate::access::{Access, MAX_FRAME};
use crate::facts::Bounds;
use crate::machine::Fault;
use moonhook_ir::helper;
use moonhook_ir::words::{Address, Word};
use moonhook_ir::{BinaryOp, CompareOp, Op, Value};

/// A copy of a frame that lies in several buffers.
#[derive(Clone, Copy, Debug)]
pub struct FrameCopy {
    pub base: Value,
    /// The frame's.
    pub length: Word,
    /// Bytes that were copied: 1 to 0xffff.
    pub copied: Word,
}

/// Working on a copy of the frame.
pub trait Scattered: Access {
    /// Goes on with frames that lie in one buffer; gives the state for the others.
    fn split_scattered(&mut self) -> Self::State {
        let context = self.program_context();
        let total = self.helper(helper::XDP_GET_BUFF_LEN, &[context]);
        let Bounds { start, end } = self.bounds();
        let linear = self.binary(BinaryOp::Sub, end, start);
        let whole = self.compare(CompareOp::Eq, total, linear);
        let (whole, scattered) = self.split(whole);
        self.resume(whole);
        scattered
    }

    /// Copies the frame, and makes the code that follows use the copy.
    fn copy_frame(&mut self) -> Result<(), Self::Stop> {
        let context = self.program_context();
        let copy = self.described_copy()?;
        let empty = self.compare(CompareOp::Eq, copy.copied, 0);
        self.fail_if(empty, |machine| machine.fault(Fault::Memory));
        let args = [context, Word::Imm(0), copy.base.into(), copy.copied];
        let failed = self.helper(helper::XDP_LOAD_BYTES, &args);
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Memory));
        self.set_copy(copy);
        Ok(())
    }

    /// Makes the code that follows use the copy that was made earlier for this packet.
    fn use_copy(&mut self) -> Result<(), Self::Stop> {
        let copy = self.described_copy()?;
        self.set_copy(copy);
        Ok(())
    }

    fn described_copy(&mut self) -> Result<FrameCopy, Self::Stop> {
        let context = self.program_context();
        let length = self.helper(helper::XDP_GET_BUFF_LEN, &[context]);
        let base = self.room_for_copy()?;
        let copied = self.smaller(length, Word::Imm(MAX_FRAME));
        let copied = self.and(copied, MAX_FRAME);
        Ok(FrameCopy { base, length, copied })
    }

    /// What [`crate::Access::locate`] does, in the copy: the comparison is with the frame's length, and a mask is the proof.
    fn locate_in_copy(&mut self, copy: FrameCopy, offset: Word, size: u32) -> (Address, Vec<Self::State>) {
        let mut outside = Vec::new();
        let last = self.sub(copy.copied, i64::from(size));
        let beyond = self.compare(CompareOp::SGt, offset, last);
        self.leave_if(beyond, &mut outside);
        let before = self.compare(CompareOp::SLt, offset, 0);
        self.leave_if(before, &mut outside);
        let place = self.kept_within(offset, MAX_FRAME);
        let place = self.value(place);
        let base = self.emit(Op::Binary(BinaryOp::Add, copy.base, place.into()));
        (Address { base, disp: 0 }, outside)
    }

    /// Writes `size` bytes of the copy, at `address`, to the frame at `offset`.
    fn write_through(&mut self, address: Address, offset: Word, size: i64) {
        let context = self.program_context();
        let from = self.add(address.base, i64::from(address.disp));
        self.helper(helper::XDP_STORE_BYTES, &[context, offset, from, Word::Imm(size)]);
    }
}

impl<M: Access> Scattered for M {}
