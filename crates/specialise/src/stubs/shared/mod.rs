//! Shared tables as general code uses them: what reads and assigns the entries of one table, with keys and values in arena
//! memory.

mod copied;
mod fields;
pub(super) mod given;
mod last;
mod records;
mod traversal;

pub use records::Record;

use self::fields::Source;
use super::{Stubs, without_context};
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::state::State;
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_runtime::layout::{ACCESS_KEEP, ACCESS_LENGTH, ACCESS_READ, ACCESS_WRITE, TAG_NIL};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;
use std::rc::Rc;

/// The code for one shared table, or for one record in its values: for each kind of access (`ACCESS_…`), in the order of their
/// numbers, a function `(L, table, key, place) -> status`, which is 0 or `FAIL`; or 1 where the access is a library function's whole
/// work, and it has two results.
pub type Accesses = Vec<(i64, FunctionId)>;

/// What is done with whole tables somewhere in the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uses {
    pub traversal: bool,
    /// `next` with a key.
    pub steps: bool,
    pub length: bool,
}

impl Stubs<'_> {
    /// What reads and assigns the entries of the shared table with that number, and the records that its values are, if they are
    /// such, numbered from `next` on. A refusal where the table's types are not known, or have no form in general code.
    pub fn shared_table(
        &mut self,
        table: TableId,
        (number, uses): (usize, Uses),
        next: &mut usize,
    ) -> Result<(Accesses, Option<Record>)> {
        let value = self.look(|context| Ok(context.schema_of(table)?.value.clone()))?;
        let record = Record::new(&value, next);
        if let Some(record) = &record {
            self.copying(table, record)?;
        }
        let word = Word::Imm(number as i64);
        let read =
            self.make(&format!("shared_read_{number}"), without_context(3), |context, parameters| {
                let &[_, key, out] = parameters else { return Ok(()) };
                context.read_value(table, [key, out], (word, record.as_ref()))
            })?;
        let write =
            self.make(&format!("shared_write_{number}"), without_context(3), |context, parameters| {
                let &[_, key, value] = parameters else { return Ok(()) };
                let schema = context.schema_of(table)?;
                let done = context.write_by_key(table, &schema, [key, value], (word, record.as_ref()))?;
                context.enter(done)?;
                context.give(0);
                Ok(())
            })?;
        let mut accesses = vec![(ACCESS_READ, read), (ACCESS_WRITE, write)];
        if let Some(record) = &record {
            accesses.push((ACCESS_KEEP, self.keeping_entry(table, record)?));
        }
        if uses.traversal {
            accesses.extend(self.traversal(table, number, record.as_ref(), uses.steps)?);
        }
        if uses.length {
            accesses.push((ACCESS_LENGTH, self.length_of_shared(table, number)?));
        }
        Ok((accesses, record))
    }
}

impl Context<'_> {
    /// The code that puts the value under a key into a place, the table's number being known to the runtime.
    fn read_value(
        &mut self,
        table: TableId,
        [key, out]: [Word; 2],
        (number, record): (Word, Option<&Record>),
    ) -> Result<()> {
        let schema = self.schema_of(table)?;
        // The value may go where the key stands.
        let key_words = value_words(self, key);
        let (mut done, mut nothing) = (Vec::new(), Vec::new());
        let mut held = Word::Imm(0);
        if let Some(record) = record {
            (done, held) = self.copy_entry(table, record, [key, out], &mut nothing)?;
        }
        let (found, none) = self.find(table, &schema, key)?;
        nothing.extend(none);
        for arm in found {
            self.state = arm.state;
            match (arm.values.first(), record) {
                (None | Some(Abs::Nil), _) => nothing.push(self.take_state()),
                (Some(_), Some(_)) => done.push(self.store_table(out, held)),
                (Some(value), None) => {
                    self.store_value(out, value)?;
                    done.push(self.take_state());
                }
            }
        }
        self.enter(nothing)?;
        self.call_routine("shared_note_absent", &[number, key]);
        self.store_value(out, &Abs::Nil)?;
        done.push(self.take_state());
        self.enter(done)?;
        if schema.value == Type::Integer {
            self.call_routine("shared_note_read", &[number, key_words[0], key_words[1], out]);
        }
        self.give(0);
        Ok(())
    }

    /// The table's schema. The script is to blame for a table without one, but not for the code that follows.
    fn schema_of(&mut self, table: TableId) -> Result<Rc<Schema>> {
        Ok(self.map_of(table)?.1)
    }

    /// Its map, and its schema.
    fn map_of(&mut self, table: TableId) -> Result<(ir::MapId, Rc<Schema>)> {
        let (map, schema) = self.settled_map(table)?;
        if matches!(schema.key, Type::Record(_)) {
            let help =
                "put the parts of the key into one string, or write handlers that have an expanded form";
            return self.refuse_shared(table, "tables as keys, in general code, of", help);
        }
        if schema.value.has_list() {
            let help = "give each place a name, or write handlers that have an expanded form";
            return self.refuse_shared(table, "lists as values, in general code, of", help);
        }
        self.code.loc = ir::Loc::default();
        Ok((map, schema))
    }

    /// What a key has, with one arm for each way of finding something or nothing; and where no entry can have such a key.
    fn find(&mut self, table: TableId, schema: &Schema, key: Word) -> Result<(Vec<Arm>, Vec<State>)> {
        let given = self.given_key(key, &schema.key)?;
        let mut nothing = given.others;
        nothing.push(given.nil);
        nothing.extend(given.too_long);
        let found = match self.join(given.fits)?.as_deref() {
            Some([key]) => self.read_shared(table, key)?,
            _ => Vec::new(),
        };
        Ok((found, nothing))
    }

    /// Assigns a value to a key; gives where that was done without an error.
    fn write_by_key(
        &mut self,
        table: TableId,
        schema: &Schema,
        [key_place, value_place]: [Word; 2],
        (word, record): (Word, Option<&Record>),
    ) -> Result<Vec<State>> {
        let given = self.given_key(key_place, &schema.key)?;
        self.state = given.nil;
        self.fail(Message::new("table index is nil"));
        self.enter(given.others)?;
        let mut done = vec![self.leave_deletion(value_place)];
        self.raise_unfit(table, "key", &schema.key, given.tag)?;
        self.enter(given.too_long)?;
        done.push(self.leave_deletion(value_place));
        self.raise_too_long(table, "key");
        let Some(keys) = self.join(given.fits)? else { return Ok(done) };
        let [key] = keys.as_slice() else { return Ok(done) };
        let seen_absent = self.call_routine("shared_was_absent", &[word, key_place]);
        let deleting = self.leave_deletion(value_place);
        let assigning = std::mem::replace(&mut self.state, deleting);
        match record {
            Some(record) => self.forget_entry(table, record, key_place)?,
            None if schema.value == Type::Integer => {
                self.call_routine("shared_addition", &[word, key_place, value_place, Word::Imm(0)]);
            }
            None => {}
        }
        self.write_shared(table, key, &Abs::Nil)?;
        done.push(self.take_state());
        self.state = assigning;
        self.known.shared.seen_absent = Some(seen_absent);
        let assigned = self.assign_by_key(table, schema, (key, [key_place, value_place]), (word, record));
        self.known.shared.seen_absent = None;
        done.extend(assigned?);
        Ok(done)
    }

    /// Assigns a value that is not nil.
    fn assign_by_key(
        &mut self,
        table: TableId,
        schema: &Schema,
        (key, [key_place, value_place]): (&Abs, [Word; 2]),
        (word, record): (Word, Option<&Record>),
    ) -> Result<Vec<State>> {
        let mut done = Vec::new();
        if let Some(record) = record {
            return self.write_record(key, record, Source { table, key: key_place, place: value_place });
        }
        let Some(value) = self.fitting(table, &schema.value, value_place)? else { return Ok(done) };
        if schema.value == Type::Integer {
            let (adds, assigns) = self.leave_addition(word, key_place, value_place);
            self.state = adds;
            self.add_for_stub(table, key)?;
            done.push(self.take_state());
            self.state = assigns;
        }
        self.write_shared(table, key, &value)?;
        done.push(self.take_state());
        Ok(done)
    }

    /// Goes on where a value, which is not nil, is of the type; an error elsewhere.
    fn fitting(&mut self, table: TableId, ty: &Type, place: Word) -> Result<Option<Abs>> {
        let given = self.given(place, ty)?;
        let mut unfit = given.others;
        unfit.push(given.nil);
        self.enter(unfit)?;
        self.raise_unfit(table, "value", ty, given.tag)?;
        self.enter(given.too_long)?;
        self.raise_too_long(table, "value");
        Ok(self.join(given.fits)?.and_then(|values| values.into_iter().next()))
    }

    /// Splits the current state: where a value that is assigned is the word's own value plus what is in the state's result.
    fn leave_addition(&mut self, word: Word, key: Word, value: Word) -> (State, State) {
        let absent = self.known.shared.seen_absent.unwrap_or(Word::Imm(0));
        let adds = self.call_routine("shared_addition", &[word, key, value, absent]);
        let adds = self.compare(CompareOp::Ne, adds, 0);
        self.split(adds)
    }

    /// Splits off where the value to be assigned is nil; goes on where it is not.
    fn leave_deletion(&mut self, value: Word) -> State {
        let tag = arena::load(self, value);
        let nil = self.compare(CompareOp::Eq, tag, TAG_NIL);
        let (nil, other) = self.split(nil);
        self.state = other;
        nil
    }

    /// Adds what a routine has put into the state's result.
    fn add_for_stub(&mut self, table: TableId, key: &Abs) -> Result<()> {
        let added = self.result_word(0);
        let arms = self.read_shared(table, key)?;
        let sums = self.sums_of(arms, added);
        if let Some([sum]) = self.join(sums)?.as_deref() {
            self.write_shared(table, key, sum)?;
        }
        Ok(())
    }

    /// What was read plus something; nil counts as 0. The expansion knows such a sum again where it is assigned.
    fn sums_of(&mut self, arms: Vec<Arm>, added: Word) -> Vec<Arm> {
        let mut sums = Vec::new();
        for arm in arms {
            self.state = arm.state;
            let sum = match arm.values.first() {
                Some(Abs::Int(old)) => {
                    let sum = self.add(*old, added);
                    self.known.note_addition(sum, *old, added);
                    sum
                }
                _ => added,
            };
            sums.push(Arm { state: self.take_state(), values: vec![Abs::Int(sum)] });
        }
        sums
    }

    fn raise_too_long(&mut self, table: TableId, what: &str) {
        let message = format!("{what} too long for table '{}'", self.snapshot.table_name(table));
        self.fail(Message::new(message));
    }

    /// `bad key for table 'hits' (ip expected, got number)`, by a value's tag. The current state ends.
    fn raise_unfit(&mut self, table: TableId, what: &str, ty: &Type, tag: Word) -> Result<()> {
        if !self.state.alive() {
            return Ok(());
        }
        let before =
            format!("bad {what} for table '{}' ({ty} expected, got ", self.snapshot.table_name(table));
        let name = self.call_routine_without_state("tag_name", &[tag]);
        let name = Abs::Str(text_of_payload(self, name));
        let text = self.concatenate(&[Abs::text(before), name, Abs::text(")")])?;
        self.raise_text(&text, true)
    }
}

/// Tag and payload of the value at a place.
pub fn value_words(words: &mut impl Words, place: Word) -> [Word; 2] {
    let payload = words.add(place, 8);
    [arena::load(words, place), arena::load(words, payload)]
}
