//! Frames that lie in several pieces.
//!
//! Packets of the network stack have bytes in pages of their own, which a helper moves to where the others are. Frames in several
//! buffers (multi-buffer XDP) stay as they are: only the first buffer lies between the packet's start and end. Such a
//! frame is copied to memory, as far as the kernel hands its bytes out (the first 64 KiB), and the handlers' code stands a second
//! time, for the copy. Writes go to the frame as well, at once, so that an error leaves what was written before it.

use crate::access::{Access, MAX_FRAME};
use crate::facts::{Bounds, Facts};
use crate::machine::{Fault, PacketState};
use moonhook_hook::Buffers;
use moonhook_ir::words::{Address, Path, Word};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size, Value};

/// A copy of a frame that lies in several buffers.
#[derive(Clone, Copy, Debug)]
pub struct FrameCopy {
    pub buffers: Buffers,
    pub base: Value,
    /// The frame's.
    pub length: Word,
    /// Bytes that were copied: 1 to 0xffff.
    pub copied: Word,
}

/// Working on a copy of the frame.
pub trait Scattered: Access {
    /// Goes on with frames that lie in one buffer; gives the state for the others.
    fn split_scattered(&mut self, buffers: Buffers) -> Self::State {
        let context = self.program_context();
        let total = self.helper(buffers.length, &[context]);
        let Bounds { start, end } = self.bounds();
        let linear = self.binary(BinaryOp::Sub, end, start);
        let whole = self.compare(CompareOp::Eq, total, linear);
        let (whole, scattered) = self.split(whole);
        self.resume(whole);
        scattered
    }

    /// Copies the frame, and makes the code that follows use the copy.
    fn copy_frame(&mut self, buffers: Buffers) -> Result<(), Self::Stop> {
        let context = self.program_context();
        let copy = self.described_copy(buffers)?;
        let empty = self.compare(CompareOp::Eq, copy.copied, 0);
        self.fail_if(empty, |machine| machine.fault(Fault::Memory));
        let args = [context, Word::Imm(0), copy.base.into(), copy.copied];
        let failed = self.helper(buffers.load, &args);
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Memory));
        self.set_copy(copy);
        Ok(())
    }

    /// Makes the code that follows use the copy that was made earlier for this packet.
    fn use_copy(&mut self, buffers: Buffers) -> Result<(), Self::Stop> {
        let copy = self.described_copy(buffers)?;
        self.set_copy(copy);
        Ok(())
    }

    /// Sees to it that the whole packet lies between start and end, at hooks where it need not.
    fn pull_packet(&mut self) -> Result<(), Self::Stop> {
        if self.hook().pull().is_none() {
            return Ok(());
        }
        let function = self.apart("pull_packet", 0, |machine, _| {
            let failed = machine.pulled()?;
            machine.give(failed);
            Ok(())
        })?;
        let failed = match function {
            Some(function) => {
                let context = self.program_context();
                self.call_function(function, &[context])
            }
            None => self.pulled()?,
        };
        // Where the packet was is not where it is.
        *self.state_mut().packet_mut() = Facts::default();
        self.code_mut().same.packet_may_change();
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Memory));
        Ok(())
    }

    /// Moves what is elsewhere between start and end; gives what the helper gave, 0 where nothing was to be moved.
    fn pulled(&mut self) -> Result<Word, Self::Stop> {
        let Some(pull) = self.hook().pull() else { return Ok(Word::Imm(0)) };
        let context = self.code().function.params[0];
        let length = self.load(context, pull.length, Size::B4, false);
        let Bounds { start, end } = self.bounds();
        let linear = self.binary(BinaryOp::Sub, end, start);
        let whole = self.compare(CompareOp::UGe, linear, length);
        let (whole, partly) = self.split(whole);
        self.resume(partly);
        let failed = self.helper(pull.helper, &[context.into(), length]);
        let partly = self.take_state();
        let path = |state, failed| Path { state, values: vec![failed] };
        let met = self.meet(vec![path(whole, Word::Imm(0)), path(partly, failed)])?;
        Ok(met.and_then(|words| words.first().copied()).unwrap_or(Word::Imm(0)))
    }

    fn described_copy(&mut self, buffers: Buffers) -> Result<FrameCopy, Self::Stop> {
        let context = self.program_context();
        let length = self.helper(buffers.length, &[context]);
        let base = self.room_for_copy()?;
        let copied = self.smaller(length, Word::Imm(MAX_FRAME));
        let copied = self.and(copied, MAX_FRAME);
        Ok(FrameCopy { buffers, base, length, copied })
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
    fn write_through(&mut self, copy: FrameCopy, address: Address, offset: Word, size: i64) {
        let context = self.program_context();
        let from = self.add(address.base, i64::from(address.disp));
        self.helper(copy.buffers.store, &[context, offset, from, Word::Imm(size)]);
    }
}

impl<M: Access> Scattered for M {}
