//! Frames in several buffers (multi-buffer XDP): only the first buffer lies between the packet's start and end. Such a
//! frame is copied to the region, as far as the kernel hands its bytes out (the first 64 KiB), and the handlers' code stands a second time, for the copy. Writes go to the frame as
//! well, at once, so that an error leaves what was written before it.

use crate::context::{Context, FrameCopy, Result};
use crate::events::Message;
use crate::region::{COPY_START, MAX_FRAME};
use crate::state::State;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::helper;
use moonhook_ir::words::{Address, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op};

impl Context<'_> {
    /// Goes on with frames that lie in one buffer; gives the state for the others.
    pub fn split_scattered(&mut self) -> Result<State> {
        let context = self.code.function.params[0];
        let total = self.helper(helper::XDP_GET_BUFF_LEN, &[context.into()]);
        let linear = self.binary(BinaryOp::Sub, self.packet_end, self.packet_start);
        let whole = self.compare(CompareOp::Eq, total, linear);
        let (whole, scattered) = self.split(whole);
        self.state = whole;
        Ok(scattered)
    }

    /// Copies the frame, and makes the code that follows use the copy.
    pub fn copy_frame(&mut self) -> Result<()> {
        let context = self.code.function.params[0];
        let copy = self.described_copy()?;
        let empty = self.compare(CompareOp::Eq, copy.copied, 0);
        self.check(empty, || Message::bare("not enough memory"));
        let failed = self
            .helper(helper::XDP_LOAD_BYTES, &[context.into(), Word::Imm(0), copy.base.into(), copy.copied]);
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.check(failed, || Message::bare("not enough memory"));
        self.copy = Some(copy);
        Ok(())
    }

    /// Makes the code that follows use the copy that was made earlier for this packet.
    pub fn use_copy(&mut self) -> Result<()> {
        self.copy = Some(self.described_copy()?);
        Ok(())
    }

    fn described_copy(&mut self) -> Result<FrameCopy> {
        let context = self.code.function.params[0];
        let length = self.helper(helper::XDP_GET_BUFF_LEN, &[context.into()]);
        let base = self.copy_base()?;
        let copied = self.smaller(length, Word::Imm(MAX_FRAME));
        let copied = self.and(copied, MAX_FRAME);
        Ok(FrameCopy { base, length, copied })
    }

    fn copy_base(&mut self) -> Result<ir::Value> {
        let region = self.region()?;
        let offset = ir::Operand::Imm(COPY_START as i32);
        Ok(self.emit(Op::Binary(BinaryOp::Add, region, offset)))
    }

    /// What [`Context::locate`] does, in the copy: the comparison is with the frame's length, and a mask is the proof.
    pub fn locate_in_copy(&mut self, copy: FrameCopy, offset: Word, size: u32) -> (Address, Vec<State>) {
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
    pub fn write_through(&mut self, address: Address, offset: Word, size: i64) {
        let context = self.code.function.params[0];
        let from = self.add(address.base, i64::from(address.disp));
        self.helper(helper::XDP_STORE_BYTES, &[context.into(), offset, from, Word::Imm(size)]);
    }
}
