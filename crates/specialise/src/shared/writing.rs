//! Assigning and deleting entries.

use super::Seen;
use super::access::plain_key;
use super::assigned::Assigned;
use super::keys::{Unfit, has_text, is_address};
use super::map_calls::{ANY, EEXIST, NOEXIST, lookup, update};
use super::mixed::is_put_whole;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::shared::known::SharedTables;
use crate::shared::virtual_tables::is_key_record;
use crate::value::{Abs, Union, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{CompareOp, Op, helper};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// `table[key] = value`.
    pub fn write_shared(&mut self, table: TableId, key: &Abs, value: &Abs) -> Result<()> {
        if let Abs::Float(x @ Word::Value(_)) = key {
            return self.write_float_key(table, *x, value);
        }
        let key = &plain_key(key);
        if let Abs::Union(_) = key {
            // All types that it may have, before each is taken by itself.
            let seen = self.seen(table, key)?;
            self.note(table, &seen, &Seen::default())?;
        }
        if self.is_split(table, key)? {
            return self.each(key, &mut |context, key| context.write_shared(table, &key, value));
        }
        let is_record = is_key_record(self.snapshot, table, key);
        match key {
            Abs::Nil => {
                self.fail(Message::new("table index is nil"));
                return Ok(());
            }
            Abs::Float(_) | Abs::Object(_) | Abs::Entry { .. } if !is_record => {
                let help = "use integers, strings and booleans as keys";
                let what = format!("a {} as a key of", key.message_name());
                return self.refuse_shared(table, &what, help);
            }
            _ => {}
        }
        let holds_entry =
            |union: &Union| union.variants.iter().any(|schema| matches!(schema, Variant::Entry(_)));
        match value {
            Abs::Entry { path, base } => self.write_held(table, key, *path, *base),
            Abs::Union(union) if holds_entry(union) => {
                self.each(value, &mut |context, value| context.write_shared(table, key, &value))
            }
            value => self.write_value(table, key, value),
        }
    }

    /// Assigns under a key that is a float at packet time: under the integer that it equals (Lua manual § 2.1), or else an error.
    fn write_float_key(&mut self, table: TableId, key: Word, value: &Abs) -> Result<()> {
        let [(integral, integer), (broken, _)] = self.split_integral(key)?;
        self.state = integral;
        self.write_shared(table, &integer, value)?;
        let done = self.take_state();
        self.state = broken;
        let expected = self.shared_map(table)?.map_or(Type::Integer, |(_, schema)| schema.key.clone());
        let wrong = vec![(self.take_state(), expected.to_string(), "number")];
        self.fail_unfit(table, "key", Unfit { wrong, ..Unfit::default() })?;
        self.enter(vec![done])
    }

    /// Assigns an entry that the handler holds: only to itself (`t[k] = t[k] or …`).
    fn write_held(&mut self, table: TableId, key: &Abs, path: u32, base: Word) -> Result<()> {
        let is_prefixes = self.shared_map(table)?.is_some_and(|(_, schema)| schema.is_prefixes());
        let whole = self.known.shared.paths[path as usize] == (table, Vec::new()) && !is_prefixes;
        if whole
            && self.known.shared.additions.is_entry(
                table,
                &self.state.key_identity(&self.code.same, key),
                base,
            )
        {
            let base = self.value(base);
            return self.prolong(table, base);
        }
        if let Some((_, schema)) = self.shared_map(table)? {
            self.fitting_key(table, &schema, key)?;
            if !self.state.alive() {
                return Ok(());
            }
        }
        // Further on, the handler may show more of its fields.
        let refusal = self.refuse_kept_entry::<()>(table, path, base);
        self.findings.refuse_later(refusal)
    }

    /// Assigns a value that is no entry. The key is one that maps can have.
    fn write_value(&mut self, table: TableId, key: &Abs, value: &Abs) -> Result<()> {
        let key_seen =
            if is_key_record(self.snapshot, table, key) { Seen::default() } else { self.seen(table, key)? };
        let value_seen = self.seen(table, value)?;
        self.check_declared(table, &value_seen)?;
        self.note(table, &key_seen, &value_seen)?;
        let known = self.shared_map(table)?;
        let is_whole = |schema: &Schema| match value {
            Abs::Union(union) => {
                schema.value == Type::Address && is_address(value) || is_put_whole(&schema.value, union)
            }
            _ => true,
        };
        if matches!(value, Abs::Union(_)) && !known.as_ref().is_some_and(|(_, schema)| is_whole(schema)) {
            return self.each(value, &mut |context, value| context.write_shared(table, key, &value));
        }
        let Some((map, schema)) = known else {
            // Only nil was assigned so far: nothing is in the table.
            return if *value == Abs::Nil { Ok(()) } else { self.refuse_unknown(table) };
        };
        if *value == Abs::Nil {
            self.delete(table, map, &schema, key)
        } else if self.add_shared(table, map, &schema, key, value)? {
            Ok(())
        } else {
            self.assign_shared(table, map, &schema, key, value)
        }
    }

    /// Runs `body` for each type that `value` may have.
    pub(super) fn each(
        &mut self,
        value: &Abs,
        body: &mut dyn FnMut(&mut Self, Abs) -> Result<()>,
    ) -> Result<()> {
        self.dispatch(value, &mut |context, value| {
            body(context, value)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    fn delete(&mut self, table: TableId, map: ir::MapId, schema: &Schema, key: &Abs) -> Result<()> {
        let mut unfit = Unfit::default();
        let address = self.key_address(&schema.key, key, &mut unfit)?;
        if self.state.alive() {
            let map = self.emit(Op::MapReference(map));
            self.emit(Op::Helper { id: helper::MAP_DELETE_ELEM, args: vec![map, address] });
        }
        self.entries_change(table);
        // What cannot be in the table is not.
        let mut states = unfit.states();
        states.push(self.take_state());
        self.enter(states)
    }

    fn assign_shared(
        &mut self,
        table: TableId,
        map: ir::MapId,
        schema: &Schema,
        key: &Abs,
        value: &Abs,
    ) -> Result<()> {
        let address = self.fitting_key(table, schema, key)?;
        let mut done = Vec::new();
        let identity = self.state.key_identity(&self.code.same, key);
        let absent = self.state.facts.is_absent(&self.known.shared.additions, table, &identity);
        self.state.facts.entries_come(table);
        let unless_there = self.known.shared.unless_there(schema, absent, value);
        // A value of one word is replaced in place, any other one as a whole, so that readers never see half of it. What is found
        // in a table of prefixes may be a shorter one.
        let in_place = schema.value_size() == 8 && !has_text(&schema.value) && !schema.is_prefixes();
        if in_place && unless_there != Word::Imm(NOEXIST) && self.state.alive() {
            let entry = lookup(self, map, address);
            let missing = self.compare(CompareOp::Eq, entry, 0);
            let (missing, found) = self.split(missing);
            self.state = found;
            let keep = self.compare(CompareOp::Ne, unless_there, 0);
            self.leave_if(keep, &mut done);
            self.add_where_read(table, schema, entry, value, &mut done)?;
            let mut unfit = Unfit::default();
            self.put(Address { base: entry, disp: 0 }, &schema.value, value, &mut unfit)?;
            self.fail_unfit(table, "value", unfit)?;
            done.push(self.take_state());
            self.state = missing;
        }
        let bytes = self.fitting_value(table, schema, value)?;
        self.assign_whole(table, map, schema, [address, bytes], unless_there)?;
        let replaces = !(absent || in_place) || schema.is_prefixes();
        if replaces {
            self.entries_change(table);
        }
        self.bind_entry(table, map, schema, key, value)?;
        done.push(self.take_state());
        self.enter(done)?;
        if !replaces {
            self.forget_words(table, Assigned::Value(identity));
        }
        Ok(())
    }

    /// Replaces an entry, or makes one; see [`SharedTables::unless_there`].
    pub(super) fn assign_whole(
        &mut self,
        table: TableId,
        map: ir::MapId,
        schema: &Schema,
        [key, value]: [ir::Value; 2],
        unless_there: Word,
    ) -> Result<()> {
        let result = update(self, map, key, value, unless_there);
        if unless_there == Word::Imm(ANY) {
            self.check_full(table, result);
            return Ok(());
        }
        let there = self.compare(CompareOp::Eq, result, -EEXIST);
        let (there, inserted) = self.split(there);
        self.state = inserted;
        self.check_full(table, result);
        let mut done = vec![self.take_state()];
        self.state = there;
        self.make_cold();
        let mut missing = Vec::new();
        let adds = self.has_first_fields(schema);
        if adds || schema.lifetime.is_some() {
            let entry = self.present_entry(map, schema, key, &mut missing);
            if adds {
                self.add_first_fields(schema, [entry, value])?;
            }
            done.push(self.take_state());
            self.enter(missing)?;
        }
        if schema.lifetime.is_some() {
            let result = update(self, map, key, value, ANY);
            self.check_full(table, result);
        }
        done.push(self.take_state());
        self.enter(done)
    }
}

impl SharedTables {
    /// Whether a value is not to replace an entry that another CPU has made meanwhile, because the handler has seen that there was
    /// none: `NOEXIST`, or 0. Of a per-CPU table, what another CPU has made is not this one's value.
    fn unless_there(&self, schema: &Schema, absent: bool, value: &Abs) -> Word {
        match absent {
            _ if schema.per_cpu || schema.is_prefixes() && !matches!(value, Abs::Object(_)) => Word::Imm(ANY),
            true => Word::Imm(NOEXIST),
            false => self.seen_absent.unwrap_or(Word::Imm(ANY)),
        }
    }
}
