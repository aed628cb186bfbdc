//! Putting VLAN tags into packets, and taking them away: among the bytes, or where the kernel keeps them ([`moonhook_hook::Tags`]).

use crate::Machine;
use crate::lengths::{ChangeLength, End};
use crate::protocols::link::{self, ETHERNET, TAG};
use moonhook_hook::Tags;
use moonhook_ir::words::{Path, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

/// What a tag is made of.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    /// 3 bits priority, 1 bit drop-eligible, 12 bits id.
    pub control: Word,
    /// 0x8100 or 0x88a8.
    pub kind: Word,
}

/// The states in which a tag was not put there, or taken away.
pub struct Untagged<S> {
    /// There is none.
    pub none: Vec<S>,
    /// The kernel has not done it.
    pub refused: Vec<S>,
}

impl<S> Default for Untagged<S> {
    fn default() -> Self {
        Untagged { none: Vec::new(), refused: Vec::new() }
    }
}

/// Tags of packets that begin with an Ethernet header.
pub trait ChangeTags: ChangeLength {
    /// Makes it the outer tag, and goes on where that could be done.
    fn push_tag(&mut self, tag: Tag, refused: &mut Vec<Self::State>) -> Result<(), Self::Stop> {
        let kind = self.unary(UnaryOp::Swap16, tag.kind);
        if let Some(Tags { push, .. }) = self.hook().tags {
            return self.ask(push, &[kind, tag.control], refused);
        }
        let (_, outside) = self.locate(Word::Imm(0), ETHERNET)?;
        refused.extend(outside);
        let addresses = self.read_addresses()?;
        self.grow(End::Head, i64::from(TAG).into(), refused)?;
        self.write_addresses(addresses)?;
        let control = self.unary(UnaryOp::Swap16, tag.control);
        let control = self.shl(control, 16);
        let word = self.binary(BinaryOp::Or, control, kind);
        if self.alive() {
            let address = self.known_address(Word::Imm(12), TAG)?;
            self.write_word(address, Word::Imm(12), Size::B4, word);
        }
        Ok(())
    }

    /// Takes the outer tag away, and goes on where that could be done.
    fn pop_tag(&mut self, failed: &mut Untagged<Self::State>) -> Result<(), Self::Stop> {
        let Some(tags) = self.hook().tags else {
            self.find_tag(Word::Imm(12), failed)?;
            let addresses = self.read_addresses()?;
            self.shrink(End::Head, i64::from(TAG).into(), &mut failed.refused)?;
            return self.write_addresses(addresses);
        };
        let (beside, among) = self.split_beside(tags);
        self.resume(beside);
        let mut done = Vec::new();
        if self.alive() {
            // The kernel goes by what it knows, not by the bytes.
            let following = self.context_word(tags.protocol);
            self.leave_on_cut_tag((following, ETHERNET), &mut failed.refused)?;
            done.push(self.take_state());
        }
        self.resume(among);
        if self.alive() {
            self.find_tag(Word::Imm(12), failed)?;
            let known = self.context_word(tags.protocol);
            let (known, others) = link::split_tagged(self, known);
            failed.none.push(others);
            self.enter(known)?;
        }
        if self.alive() {
            let address = self.known_address(Word::Imm(0), ETHERNET + TAG)?;
            let following = self.load_at(address.plus(16), Size::B2, false);
            self.leave_on_cut_tag((following, ETHERNET + TAG), &mut failed.refused)?;
            done.push(self.take_state());
        }
        self.enter(done)?;
        self.ask(tags.pop, &[], &mut failed.refused)
    }

    /// Goes on where the type at `offset` is that of a tag which is there.
    fn find_tag(&mut self, offset: Word, failed: &mut Untagged<Self::State>) -> Result<(), Self::Stop> {
        let (address, outside) = self.locate(offset, 2)?;
        failed.none.extend(outside);
        if !self.alive() {
            return Ok(());
        }
        let kind = self.load_at(address, Size::B2, false);
        let (tagged, plain) = link::split_tagged(self, kind);
        failed.none.push(plain);
        self.enter(tagged)?;
        let (_, outside) = self.locate(offset, 2 + TAG)?;
        failed.none.extend(outside);
        Ok(())
    }

    /// Leaves where what follows at `start` is a tag, by its type, that is not whole: the kernel would stop half way.
    fn leave_on_cut_tag(
        &mut self,
        (following, start): (Word, u32),
        refused: &mut Vec<Self::State>,
    ) -> Result<(), Self::Stop> {
        let (tagged, plain) = link::split_tagged(self, following);
        self.enter(tagged)?;
        let mut done = vec![plain];
        if self.alive() {
            let (_, outside) = self.locate(Word::Imm(0), start + TAG)?;
            refused.extend(outside);
            done.push(self.take_state());
        }
        self.enter(done)
    }

    /// Splits off where the outer tag is beside the packet.
    fn split_beside(&mut self, tags: Tags) -> (Self::State, Self::State) {
        let present = self.context_word(tags.present);
        let present = self.compare(CompareOp::Ne, present, 0);
        self.split(present)
    }

    /// A word of 32 bits of the context.
    fn context_word(&mut self, at: i16) -> Word {
        let context = self.program_context();
        let context = self.value(context);
        self.load(context, at, Size::B4, false)
    }

    /// Gives the tag beside a packet, which there is, another control information.
    fn replace_tag(&mut self, tags: Tags, control: Word) -> Result<(), Self::Stop> {
        let kind = self.context_word(tags.kind);
        // Of a tag among the bytes, which it takes out and puts there again, the kernel knows the type that it came with, which need not be
        // the one that the bytes say now.
        let following = self.following_type()?;
        let mut refused = Vec::new();
        self.ask(tags.pop, &[], &mut refused)?;
        self.ask(tags.push, &[kind, control], &mut refused)?;
        self.fail_in(refused, |machine| {
            machine.fault(crate::Fault::Memory);
            Ok(())
        })?;
        let now = self.following_type()?;
        let other = self.compare(CompareOp::Ne, now, following);
        let (other, same) = self.split(other);
        self.resume(other);
        if self.alive() {
            let address = self.known_address(Word::Imm(12), 2)?;
            self.write_word(address, Word::Imm(12), Size::B2, following);
        }
        let other = self.take_state();
        self.enter(vec![other, same])
    }

    /// The type of what follows the addresses among the bytes, as it is in memory.
    fn following_type(&mut self) -> Result<Word, Self::Stop> {
        if !self.alive() {
            return Ok(Word::Imm(0));
        }
        let address = self.known_address(Word::Imm(12), 2)?;
        Ok(self.load_at(address, Size::B2, false))
    }

    /// The addresses of the link's header.
    fn read_addresses(&mut self) -> Result<[Word; 2], Self::Stop> {
        if !self.alive() {
            return Ok([Word::Imm(0); 2]);
        }
        let address = self.known_address(Word::Imm(0), ETHERNET)?;
        let first = self.load_at(address, Size::B8, false);
        Ok([first, self.load_at(address.plus(8), Size::B4, false)])
    }

    fn write_addresses(&mut self, [first, rest]: [Word; 2]) -> Result<(), Self::Stop> {
        if self.alive() {
            let address = self.known_address(Word::Imm(0), ETHERNET)?;
            self.write_word(address, Word::Imm(0), Size::B8, first);
            self.write_word(address.plus(8), Word::Imm(8), Size::B4, rest);
        }
        Ok(())
    }

    /// The control information of the outer tag, which there is.
    fn tag_control(&mut self, whole: u32) -> Result<Word, Self::Stop> {
        let Some(tags) = self.hook().tags else {
            return self.header_field(Word::Imm(0), 14, Size::B2, whole);
        };
        let (beside, among) = self.split_beside(tags);
        self.resume(beside);
        let mut paths = Vec::new();
        if self.alive() {
            let control = self.context_word(tags.control);
            let control = self.and(control, 0xffff);
            paths.push(self.take_path(vec![control]));
        }
        self.resume(among);
        if self.alive() {
            let control = self.header_field(Word::Imm(0), 14, Size::B2, whole)?;
            paths.push(Path { state: self.take_state(), values: vec![control] });
        }
        self.meet_word(paths)
    }
}

impl<M: Machine> ChangeTags for M {}
