//! Longer and shorter frames.
//!
//! Guarantees that what is new is zeros, and that nothing is kept of what was known of the frame before: where it is, how long it is, what
//! was parsed, what was copied.

use crate::{Access, MAX_FRAME, Machine, Scattered};
use moonhook_hook::Lengths;
use moonhook_hook::lengths::{AFTER_LINK, LEAST, MOST_ROOM};
use moonhook_ir::words::{Iteration, Word};
use moonhook_ir::{CompareOp, Size};

/// Where a frame becomes longer or shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Head,
    Tail,
}

/// Bytes of the link's header, which the kernel leaves where it is, in parts that can be read at once.
const LINK: [(i64, Size); 3] = [(0, Size::B8), (8, Size::B4), (12, Size::B2)];

/// As many zeros are written one after another, more of them in a loop.
const IN_PLACE: i64 = 128;

/// Changing lengths, at hooks that can ([`moonhook_hook::Hook::lengths`]).
pub trait ChangeLength: Scattered {
    /// Makes the frame longer by `bytes` zeros, 1 to 0xffff of them. Where the kernel does not do that, the states go to `refused`, and nothing
    /// has changed.
    fn grow(&mut self, end: End, bytes: Word, refused: &mut Vec<Self::State>) -> Result<(), Self::Stop> {
        match (self.hook().lengths, end) {
            (Some(Lengths::Ends { head, .. }), End::Head) => {
                let by = self.sub(Word::Imm(0), bytes);
                self.ask(head, &[by], refused)?;
                self.write_zeros(bytes)
            }
            (Some(Lengths::Stack { room, .. }), End::Head) => {
                self.leave_beyond_room(bytes, refused);
                let link = self.read_link(Word::Imm(0))?;
                self.ask(room, &[bytes, AFTER_LINK.into(), Word::Imm(0)], refused)?;
                self.write_link(Word::Imm(0), [Word::Imm(0); 3])?;
                self.write_link(bytes, link)
            }
            (_, End::Tail) => self.move_tail(bytes, refused),
            (None, _) => Ok(()),
        }
    }

    /// Takes `bytes` away, 1 to 0xffff of them, behind which the frame has [`LEAST`] at least; else as [`ChangeLength::grow`].
    fn shrink(&mut self, end: End, bytes: Word, refused: &mut Vec<Self::State>) -> Result<(), Self::Stop> {
        let less = self.sub(Word::Imm(0), bytes);
        match (self.hook().lengths, end) {
            (Some(Lengths::Ends { head, .. }), End::Head) => self.ask(head, &[bytes], refused),
            (Some(Lengths::Stack { room, .. }), End::Head) => {
                self.leave_beyond_room(bytes, refused);
                let link = self.read_link(bytes)?;
                self.ask(room, &[less, AFTER_LINK.into(), Word::Imm(0)], refused)?;
                self.write_link(Word::Imm(0), link)
            }
            (_, End::Tail) => self.move_tail(less, refused),
            (None, _) => Ok(()),
        }
    }

    /// Moves the frame's end by so many bytes to the back.
    fn move_tail(&mut self, by: Word, refused: &mut Vec<Self::State>) -> Result<(), Self::Stop> {
        match self.hook().lengths {
            Some(Lengths::Ends { tail, .. }) => self.ask(tail, &[by], refused),
            Some(Lengths::Stack { tail, segment, .. }) => {
                let context = self.program_context();
                let context = self.value(context);
                let segments = self.load(context, segment, Size::B4, false);
                let uncut = self.compare(CompareOp::Ne, segments, 0);
                self.leave_if(uncut, refused);
                let length = self.packet_length();
                let length = self.add(length, by);
                self.ask(tail, &[length, Word::Imm(0)], refused)
            }
            None => Ok(()),
        }
    }

    /// Leaves where there are more bytes than the kernel makes room for at once.
    fn leave_beyond_room(&mut self, bytes: Word, refused: &mut Vec<Self::State>) {
        let beyond = self.compare(CompareOp::UGt, bytes, MOST_ROOM);
        self.leave_if(beyond, refused);
    }

    /// Calls a helper that changes the length, and goes on where it has.
    fn ask(
        &mut self,
        helper: u32,
        arguments: &[Word],
        refused: &mut Vec<Self::State>,
    ) -> Result<(), Self::Stop> {
        if !self.alive() {
            return Ok(());
        }
        let context = self.program_context();
        let arguments: Vec<Word> = [context].into_iter().chain(arguments.iter().copied()).collect();
        let failed = self.helper(helper, &arguments);
        let failed = self.and(failed, 0xffff_ffff);
        self.note_packet_moved();
        self.note_packet_written();
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.leave_if(failed, refused);
        self.copy_again()
    }

    /// The parts of the link's header that stand at `offset`.
    fn read_link(&mut self, offset: Word) -> Result<[Word; 3], Self::Stop> {
        let mut parts = [Word::Imm(0); 3];
        if self.alive() {
            let address = self.known_address(offset, LEAST as u32)?;
            for (part, (at, size)) in parts.iter_mut().zip(LINK) {
                *part = self.load_at(address.plus(at as i16), size, false);
            }
        }
        Ok(parts)
    }

    fn write_link(&mut self, offset: Word, parts: [Word; 3]) -> Result<(), Self::Stop> {
        if self.alive() {
            let address = self.known_address(offset, LEAST as u32)?;
            for (part, (at, size)) in parts.into_iter().zip(LINK) {
                let place = self.add(offset, at);
                self.write_word(address.plus(at as i16), place, size, part);
            }
        }
        Ok(())
    }

    /// Writes so many zeros in front.
    fn write_zeros(&mut self, bytes: Word) -> Result<(), Self::Stop> {
        if let Word::Imm(bytes @ ..=IN_PLACE) = bytes {
            let mut at = 0;
            while at < bytes && self.alive() {
                let size = if bytes - at >= 8 { Size::B8 } else { Size::B1 };
                write_zero(self, Word::Imm(at), size)?;
                at += size as i64;
            }
            return Ok(());
        }
        let bytes = self.and(bytes, MAX_FRAME);
        let paths = self.iterate(&[Word::Imm(0)], &mut |machine, variables| {
            let mut iteration = Iteration::default();
            let &[at] = variables else { return Ok(iteration) };
            let left = machine.sub(bytes, at);
            for size in [Size::B8, Size::B1] {
                let enough = machine.compare(CompareOp::SGe, left, size as i64);
                let (enough, less) = machine.split(enough);
                machine.resume(enough);
                if machine.alive() {
                    write_zero(machine, at, size)?;
                    let next = machine.add(at, size as i64);
                    iteration.again(machine, vec![next]);
                }
                machine.resume(less);
            }
            iteration.leave(machine, vec![]);
            Ok(iteration)
        })?;
        self.meet(paths)?;
        Ok(())
    }
}

impl<M: Machine> ChangeLength for M {}

fn write_zero<M: Machine>(machine: &mut M, at: Word, size: Size) -> Result<(), M::Stop> {
    let address = machine.known_address(at, size as u32)?;
    machine.write_word(address, at, size, Word::Imm(0));
    Ok(())
}
