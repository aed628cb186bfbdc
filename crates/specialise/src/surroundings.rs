//! What code is made for: a program of expanded code ([`crate::expanded`]), or general code that calls it ([`crate::stubs`]).
//!
//! The same code makes both. What it must do differently, because strings and errors are elsewhere or because other things are known
//! beforehand, it asks of [`Context::around`], and does not know which of the two it is in.

use crate::context::{Context, Result};
use crate::message::Message;
use crate::shared::known::FieldPath;
use crate::state::State;
use crate::value::{Abs, Identity, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::FunctionId;
use moonhook_ir::words::Address;
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

/// What depends on what the code is made for.
pub trait Surroundings {
    // ---- strings -------------------------------------------------------------------------------------------------

    /// The address of bytes at an offset of [`Space::Scratch`], where strings are that are made at packet time.
    fn scratch_address(&self, context: &mut Context<'_>, offset: Word) -> Result<Address>;

    /// Which of the regions it is that the program has on this CPU ([`crate::nesting`]).
    fn level(&self, context: &mut Context<'_>) -> Word;

    /// Reserves `length` bytes of [`Space::Scratch`], which is not negative; gives their offset. An error where there is no room.
    fn allocate(&self, context: &mut Context<'_>, length: Word) -> Result<Word>;

    /// A concatenation, for which memory was reserved last, takes less of it than it might have: it ends at an offset.
    fn shorten_concatenation(&self, context: &mut Context<'_>, end: Word);

    /// A copy of a string in an entry of a shared table, for which memory was reserved last, takes less of it than it might have.
    fn shorten_copy(&self, context: &mut Context<'_>, text: &Str);

    /// Where a constant string is: space, offset and length.
    fn constant(&self, context: &mut Context<'_>, text: &[u8]) -> (Space, Word, Word);

    /// Whether helpers of the kernel can write where strings are: they take no addresses of the arena.
    fn helpers_fill_strings(&self) -> bool;

    /// Whether there is a pool of constants that code may put bytes of its own into.
    fn has_pool(&self) -> bool;

    // ---- errors and arguments ------------------------------------------------------------------------------------

    /// Raises an error whose text is known: the current state, which is alive, ends.
    fn fail(&self, context: &mut Context<'_>, message: Message);

    /// Raises an error with arguments that are known only when it happens.
    fn fail_with(&self, context: &mut Context<'_>, message: Message, arguments: &[Abs]) -> Result<()>;

    /// Raises an error that was sent to people already.
    fn fail_again(&self, context: &mut Context<'_>, message: &str) -> Result<()>;

    /// Raises an error about an argument: its number, and what is wrong with it. `message` says so with what the function is called,
    /// as far as that is known before packets arrive.
    fn argument_error(&self, context: &mut Context<'_>, argument: (usize, &str), message: Message);

    /// The packet gets the verdict, whatever else the handler would do: the current state, which is alive, ends.
    fn decide(&self, context: &mut Context<'_>, verdict: Word);

    /// Whether arguments that a call is not given as values lie in memory.
    fn has_arguments_in_memory(&self) -> bool;

    /// How many arguments a call has that is given so many as values.
    fn argument_count(&self, context: &Context<'_>, given: usize) -> Word;

    // ---- functions and loops -------------------------------------------------------------------------------------

    /// Makes a function a part of the program that the code belongs to; gives its number.
    fn place_subprogram(&self, context: &mut Context<'_>, function: ir::Function) -> FunctionId;

    /// The number of a function that was made a part of it before, by its name.
    fn known_subprogram(&self, context: &Context<'_>, name: &str) -> Option<FunctionId>;

    /// The number of a routine of the runtime that takes words and needs no memory.
    fn routine(&self, context: &mut Context<'_>, name: &str) -> Result<FunctionId>;

    /// Whether turns of loops are taken from the packet's budget. Where they are not, loops are over data of bounded size only.
    fn is_metered(&self) -> bool;

    // ---- what is learned -----------------------------------------------------------------------------------------

    /// Whether what the code does may still tell something of the script: which types tables have, what is read of them, which tables
    /// are stored. Otherwise all that was learned before.
    fn learns(&self) -> bool;

    /// Takes note of a discovery that code before should have known of ([`Context::learned`]).
    fn learned(&self, context: &mut Context<'_>) -> Result<()>;

    // ---- shared tables -------------------------------------------------------------------------------------------

    /// Whether strings made at packet time that stand for addresses, in keys, are read as such. Otherwise they are refused.
    fn parses_addresses(&self) -> bool;

    /// The prefix that a string made at packet time is the text of: its length, and its address, of which one word or both count by
    /// the type. `None` if such strings are not read ([`Surroundings::parses_addresses`]).
    fn prefix_of_text(&self, context: &mut Context<'_>, ty: &Type, text: &Str) -> Result<Option<[Word; 3]>>;

    /// Whether fields of the value that is being assigned to a shared table may be first counts.
    fn may_have_first_fields(&self, context: &Context<'_>) -> bool;

    /// What the field with that name of the value that is being assigned began with, if it may be a first count. Paths on which it
    /// turns out at packet time that it is none leave, into `others`.
    fn first_field(&self, context: &mut Context<'_>, name: &str, others: &mut Vec<State>) -> Option<i64>;

    /// What is copied, as values, of the table's entries when they are looked up.
    fn copied_paths(&self, context: &mut Context<'_>, table: TableId) -> Vec<FieldPath>;

    /// Another program may have assigned anything: what is kept of shared tables at packet time is not what they have any more.
    fn shared_written(&self, context: &mut Context<'_>);

    /// Whether every record is copied as a whole, whatever is read of it.
    fn copies_records(&self) -> bool;

    /// Copies what is to be copied of an entry that a traversal comes to; gives the address of the copy if it takes the entry's place.
    /// `moved` gets the states where another entry may be there by now.
    fn copy_visited(
        &self,
        context: &mut Context<'_>,
        place: ((TableId, &Identity), (ir::MapId, &Schema)),
        key_and_entry: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<Option<Word>>;
}
