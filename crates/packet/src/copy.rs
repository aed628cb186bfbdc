//! Frames that lie in several pieces, and packets that are not in a program's memory.
//!
//! Packets of the network stack have bytes in pages of their own, which a helper moves to where the others are. Frames in several
//! buffers (multi-buffer XDP) stay as they are: only the first buffer lies between the packet's start and end. Such a
//! frame is copied to memory, as far as the kernel hands its bytes out (the first 64 KiB), and the handlers' code stands a second
//! time, for the copy. Writes go to the frame as well, at once, so that an error leaves what was written before it.
//!
//! Some hooks give programs no addresses of the packet at all: there, handlers have a copy only. Where they look at headers, that is of the first
//! [`FIRST`] bytes, and the rest follows for the few packets with more in front of their data.

use crate::access::{Access, MAX_DISPLACEMENT, MAX_FRAME};
use crate::facts::{Bounds, Facts, Pointer};
use crate::machine::{Fault, PacketState};
use crate::together::Together;
use moonhook_hook::{Buffers, Bytes, Length, Reader};
use moonhook_ir::kernel_field::SKB_LENGTH;
use moonhook_ir::words::{Address, Path, Word};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size, Value, helper};

/// Bytes that are copied of a packet at first, where not all of it has to be.
pub const FIRST: i64 = 128;

/// Bytes behind the largest offset of a copy that memory has.
const MARGIN: u32 = 128;

/// Where it is noted, in front of the copy's bytes, whether there is more in it than the first of them, and the frame's length.
const NOTE: i16 = -8;
const LENGTH: i16 = -16;

/// A copy of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameCopy {
    pub reader: Reader,
    pub base: Value,
    /// The frame's, unless it changes.
    pub(crate) length: Word,
    /// Bytes that can be read: at most 0xffff.
    readable: Word,
    /// The length may change: it is the one noted.
    varies: bool,
    /// Only the [`FIRST`] bytes were copied, unless the note says that the others were.
    pub partly: bool,
    /// It is made here: code elsewhere has no way to the packet itself.
    is_made_here: bool,
}

/// Working on a copy of the frame.
pub trait Scattered: Access {
    /// Goes on with frames that lie in one buffer; gives the state for the others.
    fn split_scattered(&mut self, buffers: Buffers) -> Result<Self::State, Self::Stop> {
        let total = self.whole_length(buffers.reader);
        let Bounds { start, end } = self.bounds();
        let linear = self.binary(BinaryOp::Sub, end, start);
        let whole = self.compare(CompareOp::Eq, total, linear);
        let (whole, scattered) = self.split(whole);
        self.resume(whole);
        Ok(scattered)
    }

    /// Copies the frame, the first bytes of it if `partly`, and makes the code that follows use the copy.
    fn copy_frame(&mut self, reader: Reader, partly: bool) -> Result<(), Self::Stop> {
        if let Bytes::Nothing = reader.bytes {
            return self.use_copy(reader);
        }
        let length = self.whole_length(reader);
        let copy = FrameCopy { partly, is_made_here: true, ..self.described_copy(reader, length)? };
        if matches!(reader.bytes, Bytes::Dynptr { .. }) || copy.varies {
            self.store(copy.base, LENGTH, Size::B8, length);
        }
        let empty = self.compare(CompareOp::Eq, copy.readable, 0);
        self.fail_if(empty, |machine| machine.fault(Fault::Memory));
        let mut bytes = copy.readable;
        if partly {
            self.store(copy.base, NOTE, Size::B8, Word::Imm(0));
            bytes = self.minimum(bytes, Word::Imm(FIRST))?;
        }
        match reader.bytes {
            Bytes::Dynptr { packet } => self.copy_beginning(copy, packet, bytes)?,
            _ => self.copy_bytes(copy, 0, bytes),
        }
        self.set_copy(copy);
        Ok(())
    }

    /// Makes the code that follows use the copy that was made earlier for this packet, of all of it.
    fn use_copy(&mut self, reader: Reader) -> Result<(), Self::Stop> {
        let length = match reader.bytes {
            Bytes::Helper { .. } | Bytes::Nothing => self.whole_length(reader),
            Bytes::Dynptr { .. } => {
                let base = self.room_for_copy()?;
                self.load(base, LENGTH, Size::B8, false)
            }
        };
        let copy = self.described_copy(reader, length)?;
        if copy.varies {
            self.store(copy.base, LENGTH, Size::B8, length);
        }
        self.set_copy(copy);
        Ok(())
    }

    /// Copies the frame again, whose length has changed.
    fn copy_again(&mut self) -> Result<(), Self::Stop> {
        let Some(copy) = self.copy().filter(|_| self.alive()) else { return Ok(()) };
        if !copy.varies {
            return self.note_length_change();
        }
        let length = self.whole_length(copy.reader);
        self.store(copy.base, LENGTH, Size::B8, length);
        let readable = self.readable_of(length);
        let empty = self.compare(CompareOp::Eq, readable, 0);
        self.fail_if(empty, |machine| machine.fault(Fault::Memory));
        self.copy_bytes(copy, 0, readable);
        Ok(())
    }

    /// The frame's length.
    fn copy_length(&mut self, copy: FrameCopy) -> Word {
        if copy.varies { self.load(copy.base, LENGTH, Size::B8, false) } else { copy.length }
    }

    /// Bytes of the copy that can be read.
    fn copy_readable(&mut self, copy: FrameCopy) -> Word {
        if !copy.varies {
            return copy.readable;
        }
        let length = self.copy_length(copy);
        self.readable_of(length)
    }

    /// Bytes that can be read of a frame that is so long.
    fn readable_of(&mut self, length: Word) -> Word {
        let readable = self.smaller(length, Word::Imm(MAX_FRAME));
        self.and(readable, MAX_FRAME)
    }

    /// Copies so many bytes from `offset` on: one at least.
    fn copy_bytes(&mut self, copy: FrameCopy, offset: i64, bytes: Word) {
        let context = self.program_context();
        let to = self.add(copy.base, offset);
        let offset = Word::Imm(offset);
        let failed = match copy.reader.bytes {
            Bytes::Helper { load, .. } => self.helper(load, &[context, offset, to, bytes]),
            Bytes::Dynptr { packet } if copy.is_made_here => {
                let dynptr = self.dynptr_over(packet);
                self.helper(helper::DYNPTR_READ, &[to, bytes, dynptr.into(), offset, Word::Imm(0)])
            }
            // Who uses a copy that was made elsewhere has all of it.
            Bytes::Dynptr { .. } | Bytes::Nothing => Word::Imm(0),
        };
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Memory));
    }

    /// The frame's length, wherever its bytes are.
    fn whole_length(&mut self, reader: Reader) -> Word {
        let context = self.code().function.params[0];
        match reader.bytes {
            Bytes::Helper { length: Length::Helper(helper), .. } => self.helper(helper, &[context.into()]),
            Bytes::Helper { length: Length::Word(at), .. } => self.load(context, at, Size::B4, false),
            Bytes::Nothing => Word::Imm(0),
            Bytes::Dynptr { packet } => {
                let packet = self.load(context, packet, Size::B8, false);
                let packet = self.value(packet);
                self.kernel_field(packet, &SKB_LENGTH)
            }
        }
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

    fn described_copy(&mut self, reader: Reader, length: Word) -> Result<FrameCopy, Self::Stop> {
        let base = self.room_for_copy()?;
        let readable = self.readable_of(length);
        let varies = self.hook().lengths.is_some() && self.may_change_length();
        Ok(FrameCopy { reader, base, length, readable, varies, partly: false, is_made_here: false })
    }

    /// What [`crate::Access::locate`] does, in the copy: the comparison is with the frame's length, and a mask is the proof.
    fn locate_in_copy(
        &mut self,
        copy: FrameCopy,
        offset: Word,
        size: u32,
    ) -> Result<(Address, Vec<Self::State>), Self::Stop> {
        let mut outside = Vec::new();
        let (address, end) = match offset {
            Word::Imm(imm) if (0..=MAX_DISPLACEMENT).contains(&imm) => {
                let needed = imm as u32 + size;
                if self.state().packet().length < needed {
                    let readable = self.copy_readable(copy);
                    let missing = self.compare(CompareOp::UGt, i64::from(needed), readable);
                    self.leave_if(missing, &mut outside);
                    self.state_mut().packet_mut().length = needed;
                }
                (Address { base: copy.base, disp: imm as i16 }, Word::Imm(needed.into()))
            }
            offset => {
                let (root, disp) = self.root_of(offset);
                match disp as u32 + size <= MARGIN {
                    true => self.locate_from(copy, (root, disp), size, &mut outside),
                    false => {
                        let root = self.value(offset);
                        self.locate_from(copy, (root, 0), size, &mut outside)
                    }
                }
            }
        };
        if copy.partly && size > 0 && self.alive() {
            self.copy_up_to(copy, end, Self::note_far_read)?;
        }
        Ok((address, outside))
    }

    /// Of a place that is not known beforehand, `disp` bytes behind the offset `root`: its address, and where it ends.
    fn locate_from(
        &mut self,
        copy: FrameCopy,
        (root, disp): (Value, i64),
        size: u32,
        outside: &mut Vec<Self::State>,
    ) -> (Address, Word) {
        let needed = disp as u32 + size;
        let end = self.add(root, i64::from(needed));
        let known = self.state().packet().pointer(root).copied();
        if known.is_none_or(|known| known.proved < needed) {
            let readable = self.copy_readable(copy);
            // Behind the largest integer, the end is negative.
            let beyond = self.compare(CompareOp::UGt, end, readable);
            self.leave_if(beyond, outside);
            let before = self.compare(CompareOp::SLt, Word::Value(root), 0);
            self.leave_if(before, outside);
        }
        let pointer = known.unwrap_or_else(|| {
            let place = self.kept_within(Word::Value(root), MAX_FRAME);
            let place = self.value(place);
            let address = self.emit(Op::Binary(BinaryOp::Add, copy.base, place.into()));
            Pointer { offset: root, address, most: MAX_FRAME, proved: 0 }
        });
        let proved = pointer.proved.max(needed);
        let pointers = &mut self.state_mut().packet_mut().pointers;
        pointers.retain(|other| other.offset != root);
        pointers.push(Pointer { proved, ..pointer });
        (Address { base: pointer.address, disp: disp as i16 }, end)
    }

    /// Makes the code that `work` makes use a copy of the whole frame, whether the code behind it has one or not.
    fn with_whole_copy<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Self::Stop>,
    ) -> Result<T, Self::Stop> {
        let Some(copy) = self.copy().filter(|copy| copy.partly) else { return work(self) };
        self.copy_up_to(copy, copy.readable, |_| Ok(()))?;
        self.set_copy(FrameCopy { partly: false, ..copy });
        let done = work(self);
        self.set_copy(copy);
        done
    }

    /// Sees to it that the bytes up to `end`, which lie in the frame, are in the copy; calls `note` if they may not be there.
    fn copy_up_to(
        &mut self,
        copy: FrameCopy,
        end: Word,
        note: impl FnOnce(&mut Self) -> Result<(), Self::Stop>,
    ) -> Result<(), Self::Stop> {
        let far = self.compare(CompareOp::UGt, end, FIRST);
        let (far, near) = self.split(far);
        self.resume(far);
        let mut paths = vec![near];
        if self.alive() {
            note(self)?;
            self.make_cold();
            let noted = self.load(copy.base, NOTE, Size::B8, false);
            let done = self.compare(CompareOp::Ne, noted, 0);
            let (done, missing) = self.split(done);
            paths.push(done);
            self.resume(missing);
            // One byte at least, said so that the verifier sees it.
            let more = self.sub(copy.readable, FIRST + 1);
            let more = self.and(more, MAX_FRAME);
            let rest = self.add(more, 1);
            self.copy_bytes(copy, FIRST, rest);
            self.store(copy.base, NOTE, Size::B8, Word::Imm(1));
            paths.push(self.take_state());
        }
        self.enter(paths)
    }

    /// Writes `size` bytes of the copy, at `address`, to the frame at `offset`.
    fn write_through(&mut self, copy: FrameCopy, address: Address, offset: Word, size: i64) {
        let Some(store) = copy.reader.store else { return };
        let context = self.program_context();
        let from = self.add(address.base, i64::from(address.disp));
        self.helper(store, &[context, offset, from, Word::Imm(size)]);
    }
}

impl<M: Access> Scattered for M {}
