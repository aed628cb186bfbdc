//! What making code for several paths, and looking at packets, needs of the specialiser.

use crate::context::{Context, Stop};
use crate::events::Message;
use crate::paths::Arm;
use crate::region::COPY_START;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_hook::Hook;
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Code, Coder, Turn, WordPaths, Words};
use moonhook_ir::{BinaryOp, FunctionId, Op, Operand};
use moonhook_packet::protocols::Records;
use moonhook_packet::{Fault, FrameCopy, Machine, READABLE};

/// Names the slot of memory that packets are looked at with.
const SCRATCH: u32 = 6;

impl Coder for Context<'_> {
    fn code(&self) -> &Code {
        &self.code
    }

    fn code_mut(&mut self) -> &mut Code {
        &mut self.code
    }

    fn current_block(&mut self) -> &mut Option<ir::Block> {
        &mut self.state.block
    }
}

impl Branches for Context<'_> {
    type State = State;
    type Stop = Stop;

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn meet(&mut self, paths: WordPaths<Self>) -> Result<Option<Vec<Word>>, Stop> {
        let arm = |path: ir::words::Path<State, Vec<Word>>| {
            let values = path.values.into_iter().map(Abs::Int).collect();
            Arm { state: path.state, values }
        };
        let word = |value: Abs| match value {
            Abs::Int(word) => word,
            _ => Word::Imm(0),
        };
        let values = self.join(paths.into_iter().map(arm).collect())?;
        Ok(values.map(|values| values.into_iter().map(word).collect()))
    }

    fn iterate(
        &mut self,
        initial: &[Word],
        body: &mut dyn FnMut(&mut Self, &[Word]) -> Turn<Self>,
    ) -> Result<WordPaths<Self>, Stop> {
        self.repeat(initial, body)
    }
}

impl Machine for Context<'_> {
    fn hook(&self) -> &'static Hook {
        self.target.hook
    }

    fn copy(&self) -> Option<FrameCopy> {
        self.target.copy
    }

    fn set_copy(&mut self, copy: FrameCopy) {
        self.target.copy = Some(copy);
    }

    fn fault(&mut self, fault: Fault) {
        self.fail_unnoted(match fault {
            Fault::Unreadable => {
                Message::new(format!("only the first {READABLE} bytes of a frame can be read"))
            }
            Fault::OutsideOfFrame => Message::bare("access outside of the frame (a fault of Moonhook)"),
            Fault::HeaderGone => Message::bare("a header is gone (a fault of Moonhook)"),
            Fault::Memory => Message::bare("not enough memory"),
        });
    }

    fn apart(
        &mut self,
        name: &str,
        parameters: u32,
        body: fn(&mut Self, &[Word]) -> Result<(), Stop>,
    ) -> Result<Option<FunctionId>, Stop> {
        match self.options.subprograms {
            true => self.subprogram(name, parameters, body).map(Some),
            false => Ok(None),
        }
    }

    fn reads_apart(&self) -> bool {
        self.stub.is_some()
    }

    fn room_for_copy(&mut self) -> Result<ir::Value, Stop> {
        let region = self.region()?;
        Ok(self.emit(Op::Binary(BinaryOp::Add, region, Operand::Imm(COPY_START as i32))))
    }

    fn may_change_length(&self) -> bool {
        self.known.changes_lengths || !self.around.learns()
    }

    fn note_length_change(&mut self) -> Result<(), Stop> {
        self.known.changes_lengths = true;
        self.learned()
    }

    fn scratch(&mut self, bytes: u32) -> ir::Value {
        let slot = self.known.shared.slot(SCRATCH, bytes, &mut self.code.function);
        self.emit(Op::SlotAddress(slot))
    }

    fn signature(&self) -> u32 {
        self.signature_of_notes()
    }

    fn records(&self) -> Option<Records> {
        self.known.notes.records(self.script_name())
    }

    fn noted(&mut self) -> Result<[Word; 2], Stop> {
        self.kept_note()
    }

    fn noted_field(&mut self, number: usize) -> Result<Word, Stop> {
        self.kept_field(number)
    }

    /// Where code reads in a loop, or at many places, handlers look at the packet's data.
    fn note_far_read(&mut self) -> Result<(), Stop> {
        const MANY: usize = 8;
        self.known.far_reads += 1;
        if self.code.loop_start > 0 || self.known.far_reads > MANY {
            self.known.copies_whole = true;
            self.learned()?;
        }
        Ok(())
    }
}
