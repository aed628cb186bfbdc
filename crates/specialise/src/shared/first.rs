//! What is assigned where nothing was, if the script adds the same amount where something is ([`crate::first_sums`]): a sum, like
//! `t[k] = (t[k] or 0) + n`, so that it is added where another CPU was faster; and so are fields of a table that is assigned.

use super::access::plain_key;
use crate::context::{Context, Result};
use crate::fields::Key;
use crate::first_sums::First;
use crate::paths::Arm;
use crate::shared::map_calls::atomic_add;
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};
use moonhook_schema::{Field, Schema, Type, position};
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// The value that is assigned to `object[key]`, as what is there plus that value, where the handler has seen that nothing is.
    pub fn as_first_sum(
        &mut self,
        first: &Option<First>,
        object: &Abs,
        key: &Abs,
        value: Abs,
    ) -> Result<Abs> {
        let (Some(first), Abs::Int(added)) = (first, &value) else { return Ok(value) };
        let added = *added;
        let arms = match *object {
            Abs::Object(Object::Table(table)) if self.is_seen_absent(table, key)? => {
                self.read_shared(table, key)?
            }
            Abs::Entry { path, base } if first.direct && self.is_integer_field(path, base, key)? => {
                self.read_entry(path, base, key)?
            }
            _ => return Ok(value),
        };
        let counted = |mut arm: Arm| {
            arm.values.iter_mut().filter(|value| **value == Abs::Nil).for_each(|value| *value = Abs::int(0));
            arm
        };
        let arms = arms.into_iter().map(counted).collect();
        Ok(match self.join(arms)?.as_deref() {
            Some([Abs::Int(old)]) => Abs::Int(self.sum(*old, added)),
            _ => value,
        })
    }

    /// Whether some field of a value that is assigned may be a first count.
    pub(super) fn has_first_fields(&self, schema: &Schema) -> bool {
        let Type::Record(fields) = &schema.value else { return false };
        let counts = fields.iter().any(|field| field.ty == Type::Integer);
        counts && self.around.may_have_first_fields(self)
    }

    /// Another CPU has made the entry at an address while the handler was making the value at another one: adds the value's fields that
    /// are first counts to the entry's.
    pub(super) fn add_first_fields(&mut self, schema: &Schema, [entry, value]: [ir::Value; 2]) -> Result<()> {
        let Type::Record(fields) = &schema.value else { return Ok(()) };
        let start = schema.value_offset() as i16;
        for (number, Field { name, .. }) in fields.iter().enumerate() {
            let Some((_, offset, Type::Integer)) = schema.value.field(name) else { continue };
            let mut others = Vec::new();
            let Some(from) = self.around.first_field(self, name, &mut others) else { continue };
            let there = self.load(value, start, Size::B8, false);
            let there = self.and(there, 1i64 << number);
            let missing = self.compare(CompareOp::Eq, there, 0);
            self.leave_if(missing, &mut others);
            let disp = start + offset as i16;
            let value = self.load(value, disp, Size::B8, false);
            let added = self.sub(value, from);
            self.set_there(Address { base: entry, disp: start }, number, true)?;
            atomic_add(self, Address { base: entry, disp }, added);
            others.push(self.take_state());
            self.enter(others)?;
        }
        Ok(())
    }

    fn sum(&mut self, old: Word, added: Word) -> Word {
        let sum = self.binary(BinaryOp::Add, old, added);
        self.known.note_addition(sum, old, added);
        sum
    }

    fn is_seen_absent(&mut self, table: TableId, key: &Abs) -> Result<bool> {
        let key = plain_key(key);
        if !self.known.shared.is_shared(self.snapshot, table) || matches!(key, Abs::Union(_)) {
            return Ok(false);
        }
        let counts = self.shared_map(table)?.is_some_and(|(_, schema)| schema.value == Type::Integer);
        let identity = self.state.key_identity(&self.code.same, &key);
        Ok(counts && self.state.facts.is_absent(&self.known.shared.additions, table, &identity))
    }

    /// Whether the field is an integer, or all are that it may be.
    fn is_integer_field(&mut self, path: u32, base: Word, key: &Abs) -> Result<bool> {
        let Some((_, Type::Record(fields))) = self.record_of(path, base)? else { return Ok(false) };
        let mut fields = fields.iter();
        Ok(match (Key::of(key).and_then(|key| key.field_name()), key) {
            (Some(name), _) => fields.any(|field| field.name == name && field.ty == Type::Integer),
            (None, Abs::Int(_)) => {
                fields.all(|field| position(&field.name).is_none() || field.ty == Type::Integer)
            }
            _ => false,
        })
    }
}
