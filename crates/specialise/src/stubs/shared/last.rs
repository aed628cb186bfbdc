//! What a handler holds of an entry that it replaces or deletes stays what it was, as in Lua: it becomes an ordinary table with the
//! entry's last fields (`entry_forget` in `runtime/lua/entries.lua`). They are read before the assignment, by a subprogram of its own,
//! because those that assign have no stack to spare; whether they are needed is only known once the assignment has not failed.

use super::super::{Stubs, without_context};
use super::Record;
use crate::arena;
use crate::context::{Context, Result};
use crate::state::State;
use crate::stubs::shared::value_words;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_runtime::layout::{FAIL, T_KEY, T_LAST, TAG_TABLE};
use moonhook_snapshot::TableId;

impl Stubs<'_> {
    /// `(L, table, key, value) -> status`, before the value is assigned to the key of the shared table.
    pub(super) fn keeping_entry(&mut self, table: TableId, record: &Record) -> Result<FunctionId> {
        let name = format!("shared_keep_{}", record.number);
        self.make(&name, without_context(3), |context, parameters| {
            let &[_, key, value] = parameters else { return Ok(()) };
            context.keep_entry(table, record, [key, value])?;
            context.give(0);
            Ok(())
        })
    }

    /// `(L, entry, name, value) -> status`, before the value is assigned to a field of the record.
    pub(super) fn keeping_fields(&mut self, table: TableId, record: &Record) -> Result<FunctionId> {
        let name = format!("shared_keep_fields_{}", record.number);
        self.make(&name, without_context(3), |context, parameters| {
            let &[entry, name, value] = parameters else { return Ok(()) };
            let (states, none) = context.split_field(record, name)?;
            let mut done = vec![none];
            for (state, (.., inside)) in states.into_iter().zip(&record.fields) {
                context.state = state;
                if let Some(inside) = inside {
                    let key = context.add(entry, T_KEY);
                    context.keep_entry(table, inside, [key, value])?;
                }
                done.push(context.take_state());
            }
            context.enter(done)?;
            context.give(0);
            Ok(())
        })
    }
}

impl Context<'_> {
    /// Keeps what the handler holds of a record, and of those in it, of the entry with the key at an address, unless that is what is
    /// assigned to it.
    fn keep_entry(&mut self, table: TableId, record: &Record, [key, value]: [Word; 2]) -> Result<()> {
        let held = self.held_entry(record.number, key);
        let [tag, payload] = value_words(self, value);
        let mut done = Vec::new();
        let other = self.compare(CompareOp::Ne, tag, TAG_TABLE);
        let (other, is_table) = self.split(other);
        self.state = is_table;
        let same = self.compare(CompareOp::Eq, payload, held);
        self.leave_if(same, &mut done);
        let another = self.take_state();
        self.enter(vec![other, another])?;
        self.keep_part(table, record, [held, key])?;
        for part in record.all().into_iter().skip(1) {
            let held = self.held_entry(part.number, key);
            self.keep_part(table, part, [held, key])?;
        }
        done.push(self.take_state());
        self.enter(done)
    }

    /// Reads the fields of a record, if the handler holds it, for [`T_LAST`].
    fn keep_part(&mut self, table: TableId, record: &Record, [held, key]: [Word; 2]) -> Result<()> {
        let mut done = Vec::new();
        let none = self.compare(CompareOp::Eq, held, 0);
        self.leave_if(none, &mut done);
        // It is 0 where the entry turns out to be gone, and may be left of an assignment that has failed.
        let last = self.add(held, T_LAST);
        arena::store(self, last, Word::Imm(0));
        let copy = self.last_copy(table, record, [held, key], &mut done)?;
        let schema = self.schema_of(table)?;
        if let Some(at) = self.find_in_copy(record, &schema, copy, &mut done) {
            let values = self.allocate_in_arena(Word::Imm(16 * record.fields.len() as i64));
            for (number, (name, ty, inside)) in record.fields.iter().enumerate() {
                let out = self.add(values, 16 * number as i64);
                let there = arena::load(self, at);
                let (there, missing) = self.split_flag(there, number);
                self.state = missing;
                self.store_value(out, &Abs::Nil)?;
                let mut stored = vec![self.take_state()];
                self.state = there;
                match inside {
                    Some(inside) => stored.push(self.store_entry(table, inside.number, [key, out, copy])?),
                    None => {
                        let offset = self.field_offset(record, &schema, name)?;
                        let place = self.add(at, offset);
                        stored.extend(self.store_copied_value(place, ty, out)?);
                    }
                }
                self.enter(stored)?;
            }
            let failed = self.call_routine("entry_last", &[held, values]);
            let failed = self.compare(CompareOp::SLt, failed, 0);
            self.fail_if(failed, |context| context.give(FAIL));
        }
        done.push(self.take_state());
        self.enter(done)
    }

    /// A copy of the entry as it is: the one that is held, unless the handler has assigned fields since. `gone` gets the states where
    /// there is no such entry.
    fn last_copy(
        &mut self,
        table: TableId,
        record: &Record,
        [held, key]: [Word; 2],
        gone: &mut Vec<State>,
    ) -> Result<Word> {
        let copy = self.copy_held(table, held)?;
        let none = self.compare(CompareOp::Eq, copy, 0);
        let (none, some) = self.split(none);
        self.state = some;
        let assigned = self.assigned_fields(table, record, copy)?;
        let assigned = arena::load(self, assigned);
        let old = self.compare(CompareOp::Ne, assigned, 0);
        let (old, good) = self.split(old);
        self.enter(vec![none, old])?;
        let made = self.new_copy(record, key, gone);
        let made_state = self.take_state();
        self.either(good, copy, made_state, made)
    }
}
