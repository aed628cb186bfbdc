//! Stubs: strings are in the arena, errors are raised by the runtime's routines, functions are the host's, and all that can be learned of
//! the script was learned before.

use crate::arena;
use crate::context::{Context, Result, Stop};
use crate::message::Message;
use crate::shared::known::FieldPath;
use crate::state::State;
use crate::surroundings::Surroundings;
use crate::value::{Abs, Identity, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_runtime::layout::{FAIL, L_DECIDED, L_LEVEL};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

/// A stub, whose [`Context::stub`] is there.
pub struct InStub;

impl Surroundings for InStub {
    /// An offset is an address of the arena.
    fn scratch_address(&self, context: &mut Context<'_>, offset: Word) -> Result<Address> {
        Ok(arena::address(context, offset))
    }

    /// The program has noted it.
    fn level(&self, context: &mut Context<'_>) -> Word {
        if context.target.hook.levels(context.options.clones) == 1 {
            return Word::Imm(0);
        }
        let place = context.add(context.state_address(), L_LEVEL);
        arena::load(context, place)
    }

    fn allocate(&self, context: &mut Context<'_>, length: Word) -> Result<Word> {
        Ok(context.allocate_in_arena(length))
    }

    /// The room stays reserved.
    fn shorten_concatenation(&self, _: &mut Context<'_>, _: Word) {}

    fn shorten_copy(&self, context: &mut Context<'_>, text: &Str) {
        if let Str::Slice { start, length, .. } = text {
            context.shorten_in_arena(*start, *length);
        }
    }

    fn constant(&self, context: &mut Context<'_>, text: &[u8]) -> (Space, Word, Word) {
        context.image_text(text)
    }

    fn helpers_fill_strings(&self) -> bool {
        false
    }

    fn has_pool(&self) -> bool {
        false
    }

    fn fail(&self, context: &mut Context<'_>, message: Message) {
        context.raise(message);
    }

    fn fail_with(&self, context: &mut Context<'_>, message: Message, arguments: &[Abs]) -> Result<()> {
        context.raise_with(message, arguments)
    }

    /// It can be caught; where nothing does, the end of the handler knows it by its text.
    fn fail_again(&self, context: &mut Context<'_>, message: &str) -> Result<()> {
        context.raise(Message::bare(message));
        Ok(())
    }

    /// What the function is called is known at packet time only.
    fn argument_error(&self, context: &mut Context<'_>, (number, problem): (usize, &str), _: Message) {
        context.raise_about_argument(number, problem);
    }

    fn decide(&self, context: &mut Context<'_>, verdict: Word) {
        // 0 is none: the hook's least verdict is 1 here.
        let least = i64::from(context.target.hook.least());
        let (place, decided) =
            (context.add(context.state_address(), L_DECIDED), context.add(verdict, 1 - least));
        arena::store(context, place, decided);
        context.give(FAIL);
    }

    /// All but the object of methods.
    fn has_arguments_in_memory(&self) -> bool {
        true
    }

    fn argument_count(&self, context: &Context<'_>, given: usize) -> Word {
        context.argument_count().unwrap_or(Word::Imm(given as i64))
    }

    fn place_subprogram(&self, context: &mut Context<'_>, function: ir::Function) -> FunctionId {
        match &mut context.stub {
            Some(stub) => stub.place(function),
            None => FunctionId(0),
        }
    }

    fn known_subprogram(&self, context: &Context<'_>, name: &str) -> Option<FunctionId> {
        context.stub.as_ref()?.placed(name)
    }

    fn routine(&self, context: &mut Context<'_>, name: &str) -> Result<FunctionId> {
        Ok(context.stub.as_mut().map_or(FunctionId(0), |stub| stub.host.routine(name)))
    }

    fn is_metered(&self) -> bool {
        false
    }

    fn learns(&self) -> bool {
        false
    }

    fn learned(&self, _: &mut Context<'_>) -> Result<()> {
        Err(Stop::Restart)
    }

    fn parses_addresses(&self) -> bool {
        true
    }

    fn prefix_of_text(&self, context: &mut Context<'_>, ty: &Type, text: &Str) -> Result<Option<[Word; 3]>> {
        let payload = context.payload_of_text(text)?;
        let length = context.parse_prefix(ty, payload);
        let [first, second] = [0, 8].map(|offset| context.result_word(offset));
        Ok(Some([length, first, second]))
    }

    fn may_have_first_fields(&self, _: &Context<'_>) -> bool {
        true
    }

    /// Any may be: a routine knows.
    fn first_field(&self, context: &mut Context<'_>, name: &str, others: &mut Vec<State>) -> Option<i64> {
        let is_first = context.is_first_field(name);
        let other = context.compare(CompareOp::Eq, is_first, 0);
        context.leave_if(other, others);
        Some(0)
    }

    /// Of records nothing: they are copied into packet memory.
    fn copied_paths(&self, context: &mut Context<'_>, table: TableId) -> Vec<FieldPath> {
        context.known.shared.paths_of_several_words(context.snapshot, table)
    }

    fn shared_written(&self, context: &mut Context<'_>) {
        context.outdate_copies();
        context.call_routine("shared_forget", &[]);
    }

    fn copies_records(&self) -> bool {
        true
    }

    fn copy_visited(
        &self,
        context: &mut Context<'_>,
        (_, (map, schema)): ((TableId, &Identity), (ir::MapId, &Schema)),
        key_and_entry: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<Option<Word>> {
        match schema.value {
            Type::Record(_) => context.copy_into_packet_memory((map, schema), key_and_entry, moved).map(Some),
            _ => Ok(None),
        }
    }
}
