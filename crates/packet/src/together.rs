//! Packets of which a program has the `struct sk_buff` only (netfilter): how their bytes are copied.
//!
//! The kernel has functions for that, but functions take long to be called where processors forget at each return where to go on
//! (`spec_rstack_overflow`, Documentation/admin-guide/hw-vuln/srso.rst). A few bytes that lie together are read as words of the kernel's own
//! memory, up to the next [`AT_ONCE`] bytes: what is behind the packet there is never looked at.

use crate::access::Access;
use crate::copy::{FIRST, FrameCopy, Scattered};
use crate::machine::Fault;
use moonhook_ir::kernel_field::{SKB_DATA, SKB_ELSEWHERE, WORDS};
use moonhook_ir::words::Word;
use moonhook_ir::{CompareOp, FieldFact, Op, Size, UnaryOp, Value, helper};

/// Bytes that are copied without a function of the kernel, at most, and how many of them at once.
const WITHOUT_CALL: i64 = 256;
const AT_ONCE: i64 = 32;

/// As many of them are read as one structure of the kernel.
const OF_STRUCTURE: i64 = 128;

/// Bytes of a `struct bpf_dynptr` (include/uapi/linux/bpf.h).
const DYNPTR: u32 = 16;

/// Copying bytes of a `struct sk_buff`.
pub(crate) trait Together: Access {
    /// Copies the first bytes, so many, of the packet whose `struct sk_buff` the context has there.
    fn copy_beginning(&mut self, copy: FrameCopy, packet: i16, bytes: Word) -> Result<(), Self::Stop> {
        let packet = self.load(self.code().function.params[0], packet, Size::B8, false);
        let packet = self.value(packet);
        // The verifier is not to tell paths apart by what is known of the length in each.
        let compared = self.value(bytes);
        let compared = Word::Value(self.emit(Op::Unary(UnaryOp::Unlink, compared)));
        let (together, others) = self.split_together(copy, packet, compared)?;
        self.resume(together);
        let most = if copy.partly { FIRST } else { WITHOUT_CALL };
        let mut done = self.copy_words(copy, packet, (compared, most));
        self.resume(others);
        self.copy_bytes(copy, 0, bytes);
        done.push(self.take_state());
        self.enter(done)
    }

    /// The states in which so many bytes of a packet lie together and are few, and the others.
    fn split_together(
        &mut self,
        copy: FrameCopy,
        packet: Value,
        bytes: Word,
    ) -> Result<(Self::State, Self::State), Self::Stop> {
        let elsewhere = self.kernel_field(packet, &SKB_ELSEWHERE);
        let all = self.compare(CompareOp::Eq, elsewhere, 0);
        let (all, part) = self.split(all);
        if copy.partly {
            self.resume(part);
            let beginning = self.sub(copy.length, elsewhere);
            let enough = self.compare(CompareOp::SGe, beginning, FIRST);
            let (enough, others) = self.split(enough);
            self.enter(vec![all, enough])?;
            return Ok((self.take_state(), others));
        }
        self.resume(all);
        let many = self.compare(CompareOp::UGt, bytes, WITHOUT_CALL);
        let (many, few) = self.split(many);
        self.enter(vec![part, many])?;
        Ok((few, self.take_state()))
    }

    /// Copies words of a packet that lie together until all of `bytes` are copied, which are `most` at most. Gives the paths behind that.
    fn copy_words(&mut self, copy: FrameCopy, packet: Value, (bytes, most): (Word, i64)) -> Vec<Self::State> {
        let mut done = Vec::new();
        let data = self.kernel_field(packet, &SKB_DATA);
        let mut from = packet;
        for start in (0..most).step_by(AT_ONCE as usize) {
            if start % OF_STRUCTURE == 0 {
                let part = self.add(data, start);
                let structure = self.field_fact(&WORDS, FieldFact::Structure);
                let words = self.helper(helper::READ_ONLY_CAST, &[part, structure]);
                from = self.value(words);
            }
            for at in (start..start + AT_ONCE).step_by(8) {
                let word = self.load(from, (at % OF_STRUCTURE) as i16, Size::B8, false);
                self.store(copy.base, at as i16, Size::B8, word);
            }
            if start + AT_ONCE < most {
                let all = self.compare(CompareOp::ULe, bytes, start + AT_ONCE);
                self.leave_if(all, &mut done);
            }
        }
        done.push(self.take_state());
        done
    }

    /// The address of a dynptr over the packet whose `struct sk_buff` the context has there.
    fn dynptr_over(&mut self, packet: i16) -> Value {
        let packet = self.load(self.code().function.params[0], packet, Size::B8, false);
        let slot = self.code_mut().function.new_slot(DYNPTR);
        let dynptr = self.emit(Op::SlotAddress(slot));
        let failed = self.helper(helper::DYNPTR_FROM_SKB, &[packet, Word::Imm(0), dynptr.into()]);
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Memory));
        dynptr
    }
}

impl<M: Access> Together for M {}
