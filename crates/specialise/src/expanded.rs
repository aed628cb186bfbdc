//! Expanded code: strings are in this CPU's region and in the pool, errors are sent and end with a verdict, functions are the module's,
//! and what is met is learned for the next attempt.

use crate::context::{Context, Result};
use crate::exported;
use crate::message::Message;
use crate::shared::known::FieldPath;
use crate::state::State;
use crate::surroundings::Surroundings;
use crate::value::{Abs, Identity, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Words};
use moonhook_ir::{EventKind, FunctionId};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

/// The programs of a module, or a subprogram of theirs.
pub struct Expanded {
    /// In a subprogram that raises no errors and spends nothing of the budget ([`Context::subprogram`]).
    leaf: bool,
}

/// The program of a hook.
pub const PROGRAM: Expanded = Expanded { leaf: false };

/// What [`Context::subprogram`] makes.
pub const SUBPROGRAM: Expanded = Expanded { leaf: true };

impl Surroundings for Expanded {
    fn scratch_address(&self, context: &mut Context<'_>, offset: Word) -> Result<Address> {
        context.address_in_region(offset)
    }

    fn level(&self, context: &mut Context<'_>) -> Word {
        context.target.taken.map_or(Word::Imm(0), |taken| taken.level)
    }

    fn allocate(&self, context: &mut Context<'_>, length: Word) -> Result<Word> {
        Ok(context.allocate_in_region(length))
    }

    fn shorten_concatenation(&self, context: &mut Context<'_>, end: Word) {
        context.state.scratch = end;
    }

    /// The room stays reserved: how much it is, is known before packets arrive.
    fn shorten_copy(&self, _: &mut Context<'_>, _: &Str) {}

    fn constant(&self, context: &mut Context<'_>, text: &[u8]) -> (Space, Word, Word) {
        let start = i64::from(context.output.pool.intern(text));
        (Space::Pool, Word::Imm(start), Word::Imm(text.len() as i64))
    }

    fn helpers_fill_strings(&self) -> bool {
        true
    }

    fn has_pool(&self) -> bool {
        true
    }

    fn fail(&self, context: &mut Context<'_>, message: Message) {
        if self.leaf {
            return context.give(0);
        }
        let id = context.event(EventKind::Error, message.pieces, message.positioned);
        context.count_event(id);
        let id = context.value(Word::Imm(i64::from(id)));
        context.terminate(ir::Terminator::Jump(ir::Target::new(context.target.fail_block, vec![id])));
    }

    fn fail_with(&self, context: &mut Context<'_>, message: Message, arguments: &[Abs]) -> Result<()> {
        let id = context.event(EventKind::Error, message.pieces, message.positioned);
        context.count_event(id);
        context.send(id, arguments)?;
        context.end_failed()
    }

    fn fail_again(&self, context: &mut Context<'_>, _: &str) -> Result<()> {
        context.end_failed()
    }

    fn argument_error(&self, context: &mut Context<'_>, _: (usize, &str), message: Message) {
        context.fail(message);
    }

    fn decide(&self, context: &mut Context<'_>, verdict: Word) {
        let points = context.snapshot.points();
        let is_function = points.get(context.target.program).is_some_and(exported::is_function);
        context.exit(if is_function { Word::Imm(exported::FAILED) } else { verdict });
    }

    fn has_arguments_in_memory(&self) -> bool {
        false
    }

    fn argument_count(&self, _: &Context<'_>, given: usize) -> Word {
        Word::Imm(given as i64)
    }

    fn place_subprogram(&self, context: &mut Context<'_>, function: ir::Function) -> FunctionId {
        if let Some(stub) = &mut context.stub {
            return stub.place(function);
        }
        context.output.subprograms.push(function);
        number_of(context, context.output.subprograms.len() - 1)
    }

    fn known_subprogram(&self, context: &Context<'_>, name: &str) -> Option<FunctionId> {
        if let Some(stub) = &context.stub {
            return stub.placed(name);
        }
        let index = context.output.subprograms.iter().position(|function| function.name == name)?;
        Some(number_of(context, index))
    }

    fn routine(&self, context: &mut Context<'_>, name: &str) -> Result<FunctionId> {
        match &mut context.stub {
            Some(stub) => Ok(stub.host.routine(name)),
            None => context.expanded_routine(name),
        }
    }

    fn is_metered(&self) -> bool {
        !self.leaf
    }

    fn learns(&self) -> bool {
        true
    }

    /// The attempt goes on, for what there is to learn further on, and specialisation starts again at its end.
    fn learned(&self, context: &mut Context<'_>) -> Result<()> {
        context.findings.stale = true;
        Ok(())
    }

    fn parses_addresses(&self) -> bool {
        false
    }

    fn prefix_of_text(&self, _: &mut Context<'_>, _: &Type, _: &Str) -> Result<Option<[Word; 3]>> {
        Ok(None)
    }

    fn may_have_first_fields(&self, context: &Context<'_>) -> bool {
        !context.known.shared.first_fields.is_empty()
    }

    fn first_field(&self, context: &mut Context<'_>, name: &str, _: &mut Vec<State>) -> Option<i64> {
        let mut fields = context.known.shared.first_fields.iter();
        fields.find(|first| *first.name == *name.as_bytes()).map(|first| first.from)
    }

    /// What the handlers were seen to read.
    fn copied_paths(&self, context: &mut Context<'_>, table: TableId) -> Vec<FieldPath> {
        context.known.shared.paths_read(context.snapshot, table)
    }

    /// Nothing is kept but what the state knows.
    fn shared_written(&self, _: &mut Context<'_>) {}

    fn copies_records(&self) -> bool {
        false
    }

    fn copy_visited(
        &self,
        context: &mut Context<'_>,
        (looked_up, map): ((TableId, &Identity), (ir::MapId, &Schema)),
        key_and_entry: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<Option<Word>> {
        context.copy_what_is_read(looked_up, map, key_and_entry, moved)?;
        Ok(None)
    }
}

/// The programs are the first functions of the module; the others follow in the order in which they were made.
fn number_of(context: &Context<'_>, index: usize) -> FunctionId {
    FunctionId((context.snapshot.points().len() + index) as u32)
}
