//! What packet access needs of a front end.

use crate::copy::FrameCopy;
use crate::facts::Facts;
use crate::note::Records;
use moonhook_hook::Hook;
use moonhook_ir::words::{Branches, PathState, Word};
use moonhook_ir::{FunctionId, Value};

/// A state that knows something of the packet.
pub trait PacketState: PathState {
    fn packet(&self) -> &Facts;

    fn packet_mut(&mut self) -> &mut Facts;
}

/// What goes wrong with a packet at packet time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Bytes are wanted that lie within the frame, but further on than what can be read ([`crate::READABLE`]).
    Unreadable,
    /// What is known of the packet does not hold: a fault of Moonhook.
    OutsideOfFrame,
    HeaderGone,
    /// The frame could not be copied.
    Memory,
}

/// Who makes code that looks at packets.
pub trait Machine: Branches<State: PacketState> {
    /// Where the program is attached.
    fn hook(&self) -> &'static Hook;

    /// Where the frame was copied to, in code for frames that lie in several buffers.
    fn copy(&self) -> Option<FrameCopy>;

    fn set_copy(&mut self, copy: FrameCopy);

    /// Ends the current state, which is one in which `fault` has happened.
    fn fault(&mut self, fault: Fault);

    /// The function `name`, made by `body` unless it is there: verified on its own, it takes the program's context and
    /// `parameters` numbers, which `body` gets, and gives a number ([`moonhook_ir::words::Words::give`]). It raises no errors, and its
    /// loops are bounded by themselves. `None` where there is no room for calls: the code has to stand in place. `body` may have
    /// functions made itself only where fields are read by functions ([`Machine::reads_apart`]): elsewhere they would be lost.
    fn apart(
        &mut self,
        name: &str,
        parameters: u32,
        body: fn(&mut Self, &[Word]) -> Result<(), Self::Stop>,
    ) -> Result<Option<FunctionId>, Self::Stop>;

    /// Whether each field is read by a function of its own, so that what several of them need is better found by one more function.
    fn reads_apart(&self) -> bool;

    /// The address of 64 KiB of memory of this CPU's own, where a frame is copied to ([`crate::Scattered`]), behind 16 bytes for notes.
    fn room_for_copy(&mut self) -> Result<Value, Self::Stop>;

    /// Takes note that code may read what is not among the first bytes of a packet that is only partly copied.
    fn note_far_read(&mut self) -> Result<(), Self::Stop>;

    /// Whether the length of a frame that was copied may change from here on, or may have changed.
    fn may_change_length(&self) -> bool;

    /// Takes note that it does.
    fn note_length_change(&mut self) -> Result<(), Self::Stop>;

    /// The address of so many bytes of the stack, for what is done at once.
    fn scratch(&mut self, bytes: u32) -> Value;

    /// A number that stands in front of packets with what this script has put there (`pkt.meta`), and hardly with what others have.
    fn signature(&self) -> u32;

    /// The records that this script puts there, if it does.
    fn records(&self) -> Option<Records>;

    /// Of a packet at a hook where its note may be gone by now ([`moonhook_hook::Note`]): what it has come with
    /// ([`crate::protocols::Noted`]), and the number, or the bits of the record's fields.
    fn noted(&mut self) -> Result<[Word; 2], Self::Stop>;

    /// A field of that record.
    fn noted_field(&mut self, number: usize) -> Result<Word, Self::Stop>;

    /// The program's context.
    fn program_context(&self) -> Word {
        self.code().function.params[0].into()
    }
}
