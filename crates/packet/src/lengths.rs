//! Longer and shorter frames.
//!
//! Guarantees that what is new is zeros, and that nothing is kept of what was known of the frame before: where it is, how long it is, what
//! was parsed, what was copied.

use crate::{Access, MAX_FRAME, Machine, Scattered};
use moonhook_hook::Lengths;
use moonhook_hook::lengths::{AFTER_LINK, LEAST, MOST_ROOM};
use moonhook_ir::words::{Iteration, Path, PathState, Word};
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
            Some(Lengths::Ends { tail, .. }) => {
                let mut unmoved = Vec::new();
                self.ask(tail, &[by], &mut unmoved)?;
                let moved = self.take_state();
                self.enter(unmoved)?;
                self.move_to_head(by, refused)?;
                let all = [moved, self.take_state()];
                self.enter(all.into_iter().filter(PathState::alive).collect())
            }
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

    /// Makes a frame that cannot become longer at its end longer all the same: all of it moves to the front. Drivers leave room there, but not
    /// always behind it: frames that the network stack hands to a veth have only what their socket buffer has left.
    fn move_to_head(&mut self, by: Word, refused: &mut Vec<Self::State>) -> Result<(), Self::Stop> {
        // Of a frame in several buffers the last one would have to become longer.
        if self.copy().is_some() {
            refused.push(self.take_state());
            return Ok(());
        }
        let shorter = self.compare(CompareOp::SLe, by, 0);
        self.leave_if(shorter, refused);
        if !self.alive() {
            return Ok(());
        }
        self.make_cold();
        let function = self.apart("move_to_head", 1, |machine, words| {
            let by = words.first().copied().unwrap_or(Word::Imm(0));
            let moved = machine.moved_to_head(by)?;
            machine.give(moved);
            Ok(())
        })?;
        let moved = match function {
            Some(function) => {
                let context = self.program_context();
                self.call_function(function, &[context, by])
            }
            None => self.moved_to_head(by)?,
        };
        self.note_packet_moved();
        self.note_packet_written();
        let failed = self.compare(CompareOp::Ne, moved, 1);
        self.leave_if(failed, refused);
        Ok(())
    }

    /// 1 where the frame was moved, with zeros behind it; else nothing has changed.
    fn moved_to_head(&mut self, by: Word) -> Result<Word, Self::Stop> {
        let Some(Lengths::Ends { head, .. }) = self.hook().lengths else { return Ok(Word::Imm(0)) };
        let length = self.packet_length();
        let (back, mut refused) = (self.sub(Word::Imm(0), by), Vec::new());
        self.ask(head, &[back], &mut refused)?;
        self.each_part(length, |machine, at, size| {
            let from = machine.add(at, by);
            let from = machine.known_address(from, size as u32)?;
            let word = machine.load_at(from, size, false);
            let to = machine.known_address(at, size as u32)?;
            machine.write_word(to, at, size, word);
            Ok(())
        })?;
        self.each_part(by, |machine, at, size| {
            let at = machine.add(length, at);
            write_zero(machine, at, size)
        })?;
        let moved = Path { state: self.take_state(), values: vec![Word::Imm(1)] };
        let unmoved = refused.into_iter().map(|state| Path { state, values: vec![Word::Imm(0)] });
        let met = self.meet([moved].into_iter().chain(unmoved).collect())?;
        Ok(met.and_then(|words| words.first().copied()).unwrap_or(Word::Imm(0)))
    }

    /// Does something with so many bytes, which are no more than a frame has, from the first one on: with 8 at once as long as there are.
    fn each_part(
        &mut self,
        bytes: Word,
        mut work: impl FnMut(&mut Self, Word, Size) -> Result<(), Self::Stop>,
    ) -> Result<(), Self::Stop> {
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
                    work(machine, at, size)?;
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
        self.each_part(bytes, write_zero)
    }
}

impl<M: Machine> ChangeLength for M {}

fn write_zero<M: Machine>(machine: &mut M, at: Word, size: Size) -> Result<(), M::Stop> {
    let address = machine.known_address(at, size as u32)?;
    machine.write_word(address, at, size, Word::Imm(0));
    Ok(())
}
