//! Strings of the kernel's memory.

use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::structures::task_type;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, Size, helper};
use moonhook_packet::Machine;

/// Bytes that are read of a string at most, with the NUL behind it: as many as a path has (`PATH_MAX`).
pub const LONGEST: i64 = 4096;

/// Offsets of what was read are within that.
const MASK: i64 = LONGEST - 1;

/// How bytes are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Up to a NUL.
    AtNul,
    /// All of them.
    Nowhere,
}

impl Context<'_> {
    /// The name of the thread that runs.
    pub(super) fn current_name(&mut self) -> Result<Vec<Arm>> {
        let task = self.helper(helper::GET_CURRENT_TASK, &[]);
        let types = super::types_of(self.snapshot).cloned();
        match types.and_then(|types| task_type(&types)) {
            Some(id) => super::field(self, (id, task), "comm"),
            None => self.only(Abs::Nil),
        }
    }

    /// The text at an address, nil where that is 0.
    pub(super) fn text_or_nil(&mut self, address: Word, ends: Ends) -> Result<Vec<Arm>> {
        let none = self.compare(CompareOp::Eq, address, 0);
        let (none, some) = self.split(none);
        self.state = none;
        let mut arms = self.only(Abs::Nil)?;
        self.state = some;
        let text = self.kernel_text(address, LONGEST, ends)?;
        arms.extend(self.only(Abs::Str(text))?);
        Ok(arms)
    }

    /// The text of at most so many bytes, with the NUL, at an address; empty where it cannot be read.
    pub(super) fn kernel_text(&mut self, address: Word, most: i64, ends: Ends) -> Result<Str> {
        let most = most.min(LONGEST);
        match self.around.helpers_fill_strings() {
            true => {
                let start = self.allocate(Word::Imm(most))?;
                let place = self.address(Space::Scratch, start, most as u32)?;
                let to = self.add(place.base, i64::from(place.disp));
                let length = self.read_text(to, most, address, ends);
                let end = self.add(start, length);
                self.around.shorten_concatenation(self, end);
                Ok(Str::Slice { space: Space::Scratch, start, length })
            }
            false => {
                let room = self.room_for_copy()?;
                let length = self.read_text(room.into(), most, address, ends);
                self.text_of_words(length, &mut |context, at, _| {
                    let place = context.masked(room, at, MASK);
                    Ok(context.load_at(place, Size::B8, false))
                })
            }
        }
    }

    /// Reads into the program's memory; gives how many bytes the text has.
    fn read_text(&mut self, to: Word, most: i64, address: Word, ends: Ends) -> Word {
        let (read, without_nul) = match ends {
            Ends::AtNul => (helper::PROBE_READ_KERNEL_STR, 1),
            Ends::Nowhere => {
                self.helper(helper::PROBE_READ_KERNEL, &[to, Word::Imm(most), address]);
                return Word::Imm(most);
            }
        };
        let read = self.helper(read, &[to, Word::Imm(most), address]);
        // An error is a negative number.
        let length = self.sub(read, without_nul);
        let length = self.larger(length, Word::Imm(0));
        self.kept_within(length, MASK)
    }
}
