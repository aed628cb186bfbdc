//! Errors of stubs: the runtime's routines word and keep them, since position and function names are known at packet time
//! only.

use crate::builtins::text_of;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::Piece;
use moonhook_ir::words::Words;
use moonhook_runtime::layout::FAIL;

impl Context<'_> {
    /// Calls a routine of the runtime, with its state before `args`.
    pub fn call_routine(&mut self, name: &str, args: &[Word]) -> Word {
        let Some(stub) = &mut self.stub else { return Word::Imm(0) };
        let (routine, state) = (stub.host.routine(name), stub.state);
        let args: Vec<Word> = [state.into()].into_iter().chain(args.iter().copied()).collect();
        self.call_function(routine, &args)
    }

    /// Calls a routine of the runtime that does not take its state.
    pub(super) fn call_routine_without_state(&mut self, name: &str, args: &[Word]) -> Word {
        let Some(stub) = &mut self.stub else { return Word::Imm(0) };
        let routine = stub.host.routine(name);
        self.call_function(routine, args)
    }

    /// Calls a routine that raises an error, and ends the stub.
    pub(super) fn raise_by(&mut self, routine: &str, args: &[Word]) {
        self.call_routine(routine, args);
        self.give(FAIL);
    }

    /// What [`Context::fail`] does in a stub. Equal errors share a block.
    pub(super) fn raise(&mut self, message: Message) {
        let text: Vec<u8> = message.pieces.iter().flat_map(literal).copied().collect();
        let known = self.stub.as_ref().and_then(|stub| {
            let same = |(other, positioned, _): &&(Vec<u8>, bool, ir::Block)| {
                *other == text && *positioned == message.positioned
            };
            stub.errors.iter().find(same).map(|(_, _, block)| *block)
        });
        let block = known.unwrap_or_else(|| self.error_block(text, message.positioned));
        self.terminate(ir::Terminator::Jump(ir::Target::new(block, vec![])));
    }

    fn error_block(&mut self, text: Vec<u8>, positioned: bool) -> ir::Block {
        let block = self.code.function.new_block();
        self.code.function.block_mut(block).cold = true;
        let here = self.state.block.replace(block);
        let payload = Word::Imm(self.image_string(&text));
        self.raise_by(if positioned { "raise" } else { "raise_plain" }, &[payload]);
        self.state.block = here;
        if let Some(stub) = &mut self.stub {
            stub.errors.push((text, positioned, block));
        }
        block
    }

    /// What [`Context::fail_with`] does in a stub: the text is put together in the arena's heap.
    pub(super) fn raise_with(&mut self, message: Message, arguments: &[Abs]) -> Result<()> {
        let mut arguments = arguments.iter();
        let mut parts = Vec::new();
        for piece in &message.pieces {
            parts.push(match (piece, arguments.next_if_argument(piece)) {
                (_, Some(value)) => Abs::Str(text_of(self, value)?),
                (piece, None) => Abs::text(literal(piece)),
            });
        }
        let text = self.concatenate(&parts)?;
        self.raise_text(&text, message.positioned)
    }

    /// Raises an error whose message is a string.
    pub(super) fn raise_text(&mut self, text: &Abs, positioned: bool) -> Result<()> {
        if let Abs::Str(text) = text {
            let payload = self.payload_of_text(text)?;
            self.raise_by(if positioned { "raise" } else { "raise_plain" }, &[payload]);
        }
        Ok(())
    }

    /// `luaL_argerror`: the routine knows what the function is called, and whether it is called as a method.
    pub(super) fn raise_about_argument(&mut self, number: usize, problem: &str) {
        let problem = Word::Imm(self.image_string(problem.as_bytes()));
        self.raise_by("arg_error", &[Word::Imm(number as i64), problem]);
    }
}

fn literal(piece: &Piece) -> &[u8] {
    match piece {
        Piece::Text(text) => text,
        Piece::Argument(_) => &[],
    }
}

/// The arguments of a message, taken in turn.
trait Arguments<'v> {
    fn next_if_argument(&mut self, piece: &Piece) -> Option<&'v Abs>;
}

impl<'v> Arguments<'v> for std::slice::Iter<'v, Abs> {
    fn next_if_argument(&mut self, piece: &Piece) -> Option<&'v Abs> {
        match piece {
            Piece::Text(_) => None,
            Piece::Argument(_) => self.next(),
        }
    }
}
