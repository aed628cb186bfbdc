//! Tables in arena memory on their way into a map: copied by their fields, as the expansion copies tables that it makes.

use super::Record;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::join::Arm;
use crate::made::Key;
use crate::state::State;
use crate::value::{Abs, Object, Word};
use moonhook_ir::CompareOp;
use moonhook_runtime::layout::{FAIL, T_COUNT, T_LIVE, TAG_NIL, TAG_TABLE};
use moonhook_shape::{Field, Type};
use moonhook_snapshot::TableId;
use std::sync::Arc;

impl Context<'_> {
    /// Assigns the table at a place, which is not nil, to a key; gives where that was done.
    pub(super) fn write_record(
        &mut self,
        table: TableId,
        key: &Abs,
        record: &Record,
        [key_place, place]: [Word; 2],
    ) -> Result<Vec<State>> {
        let (made, same) = self.made_of(table, record, key_place, place)?;
        let mut done = Vec::new();
        let assigning = self.take_state();
        self.enter(same)?;
        for arm in self.read_shared(table, key)? {
            self.state = arm.state;
            if let Some(Abs::Entry { base, .. }) = arm.values.first() {
                let base = self.value(*base);
                self.prolong(table, base)?;
            }
            done.push(self.take_state());
        }
        self.state = assigning;
        let Some(made) = made else { return Ok(done) };
        self.forget_entry(table, record, key_place)?;
        self.write_shared(table, key, &made)?;
        self.become_entries(record, key_place, place)?;
        done.push(self.take_state());
        Ok(done)
    }

    /// The table at a place as the expansion knows tables, and where it is the very record that it is to be copied into. An
    /// error where it cannot be copied.
    pub(super) fn made_of(
        &mut self,
        table: TableId,
        record: &Record,
        key: Word,
        place: Word,
    ) -> Result<(Option<Abs>, Vec<State>)> {
        let tag = self.load_arena(place);
        let mut others = Vec::new();
        let other = self.compare(CompareOp::Ne, tag, TAG_TABLE);
        self.leave_if(other, &mut others);
        let inside = self.take_state();
        self.enter(others)?;
        self.raise_unfit(table, "value", &record.ty(), tag)?;
        self.state = inside;
        let address = self.add(place, 8);
        let address = self.load_arena(address);
        let name = Word::Imm(self.image_string(self.table_name(table).to_string().as_bytes()));
        let source = self.call_routine("entry_source", &[address, record.number_word(), key, name]);
        let failed = self.compare(CompareOp::SLt, source, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        let mut same = Vec::new();
        let is_same = self.compare(CompareOp::Ne, source, 0);
        self.leave_if(is_same, &mut same);
        let made = self.make_table_numbered(record.number);
        let mut there = Word::Imm(0);
        for (name, ty, inside) in &record.fields {
            let place = self.field_place(address, name);
            let tag = self.load_arena(place);
            let present = self.compare(CompareOp::Ne, tag, TAG_NIL);
            let present = self.condition_word(present);
            there = self.add(there, present);
            let value = self.field_value(table, (ty, inside.as_ref()), key, place)?;
            self.set_made_field(made, Key::Text(Arc::from(name.as_bytes())), value);
        }
        self.check_no_more(table, record, address, there);
        let made = self.state.alive().then_some(Abs::Object(Object::Made(made)));
        Ok((made, same))
    }

    /// Where the value of a field of a table is.
    fn field_place(&mut self, address: Word, name: &str) -> Word {
        let text = Word::Imm(self.image_string(name.as_bytes()));
        let hash = Word::Imm(moonhook_runtime::text_hash(name.as_bytes()) as i64);
        self.call_routine_without_state("table_get_text", &[address, text, hash])
    }

    fn field_value(
        &mut self,
        table: TableId,
        (ty, inside): (&Type, Option<&Record>),
        key: Word,
        place: Word,
    ) -> Result<Abs> {
        let nil = self.leave_deletion(place);
        let value = match inside {
            None => self.fitting(table, ty, place)?,
            Some(inside) => {
                let (made, same) = self.made_of(table, inside, key, place)?;
                let rest = self.take_state();
                self.enter(same)?;
                let name = self.table_name(table);
                let message = format!("an entry of a shared table cannot be kept in table '{name}'");
                self.fail(Message::new(message));
                self.state = rest;
                made
            }
        };
        let mut arms = vec![Arm { state: nil, values: vec![Abs::Nil] }];
        if let Some(value) = value {
            arms.push(Arm { state: self.take_state(), values: vec![value] });
        }
        Ok(self.join(arms)?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil))
    }

    /// An error where a table has more than `there` fields.
    fn check_no_more(&mut self, table: TableId, record: &Record, address: Word, there: Word) {
        let [count, live] = [T_COUNT, T_LIVE].map(|field| {
            let place = self.add(address, field);
            self.load_arena(place)
        });
        let all = self.add(count, live);
        let more = self.compare(CompareOp::Ne, all, there);
        let expected = record.ty();
        let message = format!(
            "bad value for table '{}' ({expected} expected, got other fields)",
            self.table_name(table)
        );
        self.fail_if(more, |context| context.fail(Message::new(message)));
    }

    /// The table at a place, and those in its fields, are the entry's records from now on.
    pub(super) fn become_entries(&mut self, record: &Record, key: Word, place: Word) -> Result<()> {
        if !self.state.alive() {
            return Ok(());
        }
        let address = self.add(place, 8);
        let address = self.load_arena(address);
        for (name, _, inside) in &record.fields {
            let Some(inside) = inside else { continue };
            let place = self.field_place(address, name);
            let nil = self.leave_deletion(place);
            self.become_entries(inside, key, place)?;
            let some = self.take_state();
            self.enter(vec![nil, some])?;
        }
        let failed = self.call_routine("entry_become", &[address, record.number_word(), key]);
        let failed = self.compare(CompareOp::SLt, failed, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        Ok(())
    }
}

impl Record {
    fn number_word(&self) -> Word {
        Word::Imm(self.number as i64)
    }

    fn ty(&self) -> Type {
        let field =
            |(name, ty, _): &(String, Type, Option<Record>)| Field { name: name.clone(), ty: ty.clone() };
        Type::Record(self.fields.iter().map(field).collect())
    }
}
