//! Copies of entries for general code, whose accesses to a record's fields are calls of their own: all bytes of the value are copied
//! into packet memory when the entry is looked up, confirmed as [`super::copies`] has it, and fields are read there.
//!
//! Behind the value's bytes stands, for each record in it, a word whose bit i says that the handler has assigned field i, which is
//! read in place from then on; and what the state's `L_COPIES` was, in tables of prefixes, where several keys lead to one entry, and
//! where functions of flows may assign entries while a handler waits for their verdict.

use super::known::FieldPath;
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::shared::known::SharedTables;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_runtime::layout::L_COPIES;
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::{Snapshot, TableId};

/// How often an entry is copied again because another CPU has assigned it meanwhile. Each time that takes a new assignment within
/// some hundred nanoseconds.
const TRIES: i64 = 1000;

/// Up to so many words are copied without a loop.
const UNROLLED_WORDS: i64 = 32;

/// Where what is in a copy.
pub struct CopyLayout {
    value: i64,
    records: i64,
    stamped: bool,
}

impl CopyLayout {
    pub fn new(snapshot: &Snapshot, schema: &Schema) -> CopyLayout {
        let (value, records) = (schema.value.size() as i64, records_in(&schema.value));
        CopyLayout { value, records, stamped: schema.is_prefixes() || !snapshot.flows.is_empty() }
    }

    pub fn is_stamped(&self) -> bool {
        self.stamped
    }

    /// The word that says what is assigned of a record, of those in the value the one with that number.
    pub fn assigned(&self, record: usize) -> i64 {
        self.value + 8 * record as i64
    }

    /// What `L_COPIES` was.
    pub fn stamp(&self) -> i64 {
        self.value + 8 * self.records
    }

    fn size(&self) -> i64 {
        self.stamp() + if self.stamped { 8 } else { 0 }
    }
}

/// How many records a type is and has inside.
fn records_in(ty: &Type) -> i64 {
    match ty {
        Type::Record(fields) => 1 + fields.iter().map(|field| records_in(&field.ty)).sum::<i64>(),
        _ => 0,
    }
}

impl Context<'_> {
    /// Looks up a key and copies what is there; arms with the copy's address, and with 0 where there is no such entry.
    pub fn copy_of_key(
        &mut self,
        table: TableId,
        (map, schema): (ir::MapId, &Schema),
        key: &Abs,
    ) -> Result<Vec<Arm>> {
        let bytes = self.fitting_key(table, schema, key)?;
        self.repeat(&[Word::Imm(TRIES)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let over = context.compare(CompareOp::Eq, variables[0], 0);
            let message =
                format!("an entry of table '{}' changes too often", context.snapshot.table_name(table));
            context.fail_if(over, |context| context.fail(Message::new(message)));
            let left = context.sub(variables[0], 1);
            let (mut missing, mut moved) = (Vec::new(), Vec::new());
            let entry = context.present_entry(map, schema, bytes, &mut missing);
            let copy = context.copy_into_packet_memory((map, schema), [bytes, entry], &mut moved)?;
            missing.into_iter().for_each(|state| iteration.leave_in(state, vec![Abs::int(0)]));
            iteration.next.extend(moved.into_iter().map(|state| (state, vec![left])));
            iteration.leave(context, vec![Abs::Int(copy)]);
            Ok(iteration)
        })
    }

    /// Copies an entry that was looked up; gives the copy's address. `moved` gets the states where another entry may be there by
    /// now, and the memory is given back.
    pub fn copy_into_packet_memory(
        &mut self,
        (map, schema): (ir::MapId, &Schema),
        [key, entry]: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<Word> {
        let layout = CopyLayout::new(self.snapshot, schema);
        let copy = self.allocate_in_arena(Word::Imm(layout.size()));
        let value = schema.value_offset() as i16;
        let mut others = Vec::new();
        let copy_words = &mut |context: &mut Self| context.copy_words(entry, value, copy, layout.value);
        self.confirmed_by_version((map, schema), [key, entry], copy_words, &mut others)?;
        for record in 0..layout.records as usize {
            store_in_copy(self, copy, layout.assigned(record), Word::Imm(0));
        }
        if layout.stamped {
            let stamp = self.add(self.state_address(), L_COPIES);
            let stamp = arena::load(self, stamp);
            store_in_copy(self, copy, layout.stamp(), stamp);
        }
        let good = self.take_state();
        for state in others {
            self.state = state;
            self.shorten_in_arena(copy, Word::Imm(0));
            moved.push(self.take_state());
        }
        self.state = good;
        Ok(copy)
    }

    /// From now on no stamped copy is read that was made before.
    pub fn outdate_copies(&mut self) {
        let place = self.add(self.state_address(), L_COPIES);
        let stamp = arena::load(self, place);
        let stamp = self.add(stamp, 1);
        arena::store(self, place, stamp);
    }

    /// The value, which is no string, at an address in a copy, with one arm for each way of getting it.
    pub fn value_arms_of_copy(&mut self, place: Word, ty: &Type) -> Result<Vec<Arm>> {
        let at = arena::address(self, place);
        self.value_arms(Address { base: at.base, disp: at.disp }, ty)
    }

    /// Copies so many bytes of an entry, from a displacement on.
    fn copy_words(&mut self, entry: ir::Value, disp: i16, copy: Word, size: i64) -> Result<()> {
        if size <= 8 * UNROLLED_WORDS {
            for offset in (0..size).step_by(8) {
                let word = self.load(entry, disp + offset as i16, Size::B8, false);
                store_in_copy(self, copy, offset, word);
            }
            return Ok(());
        }
        let arms = self.repeat(&[Word::Imm(0)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let offset = variables[0];
            let done = context.compare(CompareOp::UGt, offset, size - 8);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let from = context.value(offset);
            let from = context.emit(Op::Binary(BinaryOp::Add, entry, from.into()));
            let word = context.load(from, disp, Size::B8, false);
            let to = context.add(copy, offset);
            arena::store(context, to, word);
            let next = context.add(offset, 8);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join(arms)?;
        Ok(())
    }
}

fn store_in_copy(words: &mut impl Words, copy: Word, offset: i64, word: Word) {
    let place = words.add(copy, offset);
    arena::store(words, place, word);
}

impl SharedTables {
    /// The value of the table's entries, as what is copied when one is looked up, if it has several words and is no record.
    pub fn paths_of_several_words(&mut self, snapshot: &Snapshot, table: TableId) -> Vec<FieldPath> {
        let several_words = |schema: &Schema| {
            schema.value.size() > 8 && !matches!(schema.value, Type::Record(_)) && !schema.per_cpu
        };
        match &self.know(snapshot, table).map {
            Some((_, schema)) if several_words(schema) => vec![FieldPath::new()],
            _ => Vec::new(),
        }
    }
}
