//! The frame's bytes.
//!
//! Guarantees that every access carries the check that the kernel's verifier wants, next to the use and on the same
//! value (KERNEL: `find_good_pkt_pointers` in kernel/bpf/verifier.c tracks a comparison with the packet's end by the
//! pointer's id), and that facts already proved are not proved again.

use crate::copy::Scattered;
use crate::facts::{Bounds, Pointer};
use crate::machine::{Fault, Machine, PacketState};
use moonhook_ir::words::{Address, Cond, Word};
use moonhook_ir::{BinaryOp, CompareOp, Condition, Op, Operand, Size, UnaryOp, Value};

/// The verifier takes no larger offset into a packet (`MAX_PACKET_OFF`), and the helpers that copy bytes of it take none either.
pub const MAX_FRAME: i64 = 0xffff;

/// A mask for the lengths of frames, some of which are longer than what can be read of them: 64 KiB and a link header on the loopback
/// interface, up to 512 KiB where the kernel hands on segments that it has put together (`GSO_MAX_SIZE`).
pub const MAX_LENGTH: i64 = 0xf_ffff;

/// A pointer is bounded so that this many bytes behind it can be proved, so that later accesses a little further on need no
/// tighter bound.
pub const COMMON_REACH: u32 = 0x100;

/// Bytes of a frame in one buffer that can be read at any place; of a copy, [`MAX_FRAME`].
pub const READABLE: i64 = MAX_FRAME - COMMON_REACH as i64;

/// The largest constant displacement put into an access.
pub const MAX_DISPLACEMENT: i64 = 0x7000;

/// Reading and writing the frame.
pub trait Access: Machine {
    /// The frame's length in bytes.
    fn packet_length(&mut self) -> Word {
        if let Some(copy) = self.copy() {
            return self.copy_length(copy);
        }
        let Bounds { start, end } = self.bounds();
        let length = self.binary(BinaryOp::Sub, end, start);
        let length = self.and(length, MAX_LENGTH);
        self.code_mut().same.note_read("#", Word::Imm(0), &[], &[length]);
        length
    }

    /// Bytes of the frame, from its start, that can be read.
    fn readable(&self) -> i64 {
        if self.copy().is_some() { MAX_FRAME } else { READABLE }
    }

    /// Raises an error where bytes up to `end` are wanted, which lies within the frame, and not all of them can be read.
    fn check_readable(&mut self, end: Word) {
        let beyond = self.compare(CompareOp::UGt, end, self.readable());
        self.fail_if(beyond, |machine| machine.fault(Fault::Unreadable));
    }

    /// Goes on, where [`Access::locate`] has not found `size` bytes at `offset`, if they do not lie within the frame; raises an error
    /// if it is only that they cannot be read.
    fn check_outside(&mut self, offset: Word, size: u32) {
        if self.range(offset).within(i64::MIN, MAX_DISPLACEMENT) {
            return;
        }
        // No frame is shorter than what is read at once.
        let length = self.packet_length();
        let last = self.sub(length, i64::from(size));
        let within = self.compare(CompareOp::ULe, offset, last);
        self.fail_if(within, |machine| machine.fault(Fault::Unreadable));
    }

    /// The address of `size` bytes at `offset` of the frame, in the current state; and the states in which they do not
    /// lie within the frame.
    fn locate(&mut self, offset: Word, size: u32) -> Result<(Address, Vec<Self::State>), Self::Stop> {
        if let Some(copy) = self.copy() {
            return self.locate_in_copy(copy, offset, size);
        }
        let mut outside = Vec::new();
        let start = self.bounds().start;
        let limit = MAX_FRAME - i64::from(size);
        match offset {
            Word::Imm(imm) if (0..=MAX_DISPLACEMENT).contains(&imm) => {
                let needed = imm as u32 + size;
                let address = Address { base: start, disp: imm as i16 };
                if self.state().packet().length < needed {
                    self.check_end(start, needed, &mut outside);
                    self.state_mut().packet_mut().length = needed;
                }
                Ok((address, outside))
            }
            Word::Imm(imm) if imm < 0 || imm > limit => {
                outside.push(self.take_state());
                Ok((Address { base: start, disp: 0 }, outside))
            }
            // Nothing is accessed, so no pointer has to be proved: the place itself must lie within the frame.
            offset if size == 0 => {
                let length = self.packet_length();
                let beyond = self.compare(CompareOp::UGt, offset, length);
                self.leave_if(beyond, &mut outside);
                Ok((Address { base: start, disp: 0 }, outside))
            }
            offset => {
                let (root, disp) = self.root_of(offset);
                let needed = disp as u32 + size;
                let pointer = self.pointer_to(root, needed, &mut outside);
                if pointer.proved < needed {
                    self.check_end(pointer.address, needed, &mut outside);
                    if let Some(pointer) = self.state_mut().packet_mut().pointer_mut(root) {
                        pointer.proved = needed;
                    }
                }
                Ok((Address { base: pointer.address, disp: disp as i16 }, outside))
            }
        }
    }

    /// The pointer to offset `root`, bounded so that `needed` bytes behind it can be proved: beyond `MAX_PACKET_OFF` the
    /// verifier takes no comparison with the packet's end for a proof.
    fn pointer_to(&mut self, root: Value, needed: u32, outside: &mut Vec<Self::State>) -> Pointer {
        let most = MAX_FRAME - i64::from(needed.max(COMMON_REACH));
        let known = self.state().packet().pointer(root).copied();
        if let Some(pointer) = known
            && pointer.most <= most
        {
            return pointer;
        }
        let within = self.range(Word::Value(root)).within(0, most);
        let bounded = if known.is_none() { self.with_bounds(Word::Value(root), most) } else { None };
        // An address cannot be bounded later on: the same offset is added again, as a value of its own. So is one from
        // outside of a loop, which the allocator may have put on the stack, where the verifier forgets, coming round, that
        // what is compared and what is added are the same (`widen_imprecise_scalars`). A copy is compared whatever is known here.
        let offset = match bounded {
            Some(bounded) => self.value(bounded),
            None if known.is_none() && root.0 >= self.code().loop_start && !within => root,
            None => self.emit(Op::Unary(UnaryOp::Unlink, root)),
        };
        let cond = self.compare(CompareOp::UGt, offset, most);
        self.leave_if(cond, outside);
        let start = self.bounds().start;
        let address = self.emit(Op::Binary(BinaryOp::Add, start, offset.into()));
        let most = most.min(self.range(Word::Value(root)).max);
        let pointer = Pointer { offset: root, address, most, proved: 0 };
        let pointers = &mut self.state_mut().packet_mut().pointers;
        pointers.retain(|other| other.offset != root);
        pointers.push(pointer);
        pointer
    }

    /// Loads the frame's addresses, where it has any, so that what follows has the same ones.
    fn load_bounds(&mut self) {
        if self.hook().context.addresses().is_some() {
            self.bounds();
        }
    }

    /// Splits an offset into a value that is known not to be negative and a small constant.
    fn root_of(&mut self, offset: Word) -> (Value, i64) {
        if let Word::Value(value) = offset
            && let Some(&(root, constant)) = self.code().sums.get(&value)
            && (0..=MAX_DISPLACEMENT).contains(&constant)
            && (self.range(Word::Value(root)).min >= 0 || self.state().packet().pointer(root).is_some())
        {
            return (root, constant);
        }
        (self.value(offset), 0)
    }

    /// Leaves, to `outside`, where fewer than `needed` bytes lie behind `base`.
    fn check_end(&mut self, base: Value, needed: u32, outside: &mut Vec<Self::State>) {
        let end = self.bounds().end;
        let behind = self.emit(Op::Binary(BinaryOp::Add, base, Operand::Imm(needed as i32)));
        let condition = Condition::new(CompareOp::UGt, behind, end);
        self.leave_if(Cond::Test(condition), outside);
    }

    /// Writes a word to the frame at `offset`, which is at `address`.
    fn write_word(&mut self, address: Address, offset: Word, size: Size, word: Word) {
        self.state_mut().packet_mut().sums.clear();
        self.store(address.base, address.disp, size, word);
        if let Some(copy) = self.copy() {
            self.write_through(copy, address, offset, size as i64);
        }
    }

    /// Must stand behind every call after which the packet may lie elsewhere.
    fn note_packet_moved(&mut self) {
        let facts = self.state_mut().packet_mut();
        (facts.bounds, facts.length) = (None, 0);
        facts.pointers.clear();
        facts.sums.clear();
    }

    /// Must stand behind every write to the packet: what was parsed no longer holds.
    fn note_packet_written(&mut self) {
        let facts = self.state_mut().packet_mut();
        facts.parsed.clear();
        facts.sums.clear();
        facts.written = true;
        self.code_mut().same.packet_may_change();
    }

    /// The address of `size` bytes at `offset` of the frame, which are known to be there. The verifier is given the proof
    /// that it needs; where that proof is a branch, its other side cannot be taken.
    fn known_address(&mut self, offset: Word, size: u32) -> Result<Address, Self::Stop> {
        let known = matches!(offset, Word::Value(v) if self.state().packet().pointer(v).is_some());
        let bounded = self.range(offset).within(0, MAX_FRAME - i64::from(size));
        let affine = matches!(offset, Word::Value(v) if self.code().sums.contains_key(&v));
        let offset = if known || bounded || affine { offset } else { self.and(offset, MAX_FRAME) };
        let (address, outside) = self.locate(offset, size)?;
        self.fail_in(outside, |machine| {
            machine.fault(Fault::OutsideOfFrame);
            Ok(())
        })?;
        Ok(address)
    }

    /// A big-endian field of a header: `size` bytes at `offset + at`, which parsing found to be there. The verifier's
    /// proof is for `whole` bytes of the header, so that the header's fields share it.
    fn header_field(&mut self, offset: Word, at: i64, size: Size, whole: u32) -> Result<Word, Self::Stop> {
        let address = self.known_address(offset, whole)?;
        let word = self.load_at(address.plus(at as i16), size, false);
        Ok(self.host_order(word, size))
    }

    /// A MAC address in a header, as [`Access::header_field`].
    fn header_mac(&mut self, offset: Word, at: i64, whole: u32) -> Result<Word, Self::Stop> {
        let high = self.header_field(offset, at, Size::B4, whole)?;
        let low = self.header_field(offset, at + 4, Size::B2, whole)?;
        let high = self.shl(high, 16);
        Ok(self.binary(BinaryOp::Or, high, low))
    }

    /// A word loaded from network byte order.
    fn host_order(&mut self, word: Word, size: Size) -> Word {
        match size {
            Size::B1 => word,
            Size::B2 => self.unary(UnaryOp::Swap16, word),
            Size::B4 => self.unary(UnaryOp::Swap32, word),
            Size::B8 => self.unary(UnaryOp::Swap64, word),
        }
    }

    /// The sum of the two halves of a word of 8 bytes.
    fn halves(&mut self, word: Word) -> Word {
        let (high, low) = (self.shr(word, 32), self.and(word, 0xffff_ffff));
        self.add(high, low)
    }

    /// Where the frame is: words of the program's context of which the verifier makes pointers, loaded unless they are known. Where a
    /// context has none, there is a copy, and this is not asked.
    fn bounds(&mut self) -> Bounds {
        if let Some(bounds) = self.state().packet().bounds {
            return bounds;
        }
        let context = self.code().function.params[0];
        let load = |disp| Op::Load { size: Size::B4, signed: false, base: context, disp };
        let addresses = self.hook().context.addresses().unwrap_or_default();
        let bounds = Bounds { start: self.emit(load(addresses.start)), end: self.emit(load(addresses.end)) };
        let facts = self.state_mut().packet_mut();
        (facts.bounds, facts.length) = (Some(bounds), 0);
        facts.pointers.clear();
        bounds
    }
}

impl<M: Machine> Access for M {}
