//! Tables made at packet time as bytes of keys and values.

use super::keys::{Unfit, is_address};
use crate::context::{Context, Result};
use crate::fields::Key;
use crate::shared::map_calls::zero;
use crate::value::{Abs, Object, Word};
use moonhook_ir::words::{Address, PathState, Words};
use moonhook_ir::{BinaryOp, Size};
use moonhook_schema::{Field, Type};
use moonhook_snapshot::{Snapshot, TableId};

impl Context<'_> {
    /// Writes a table made at packet time as a record.
    pub(super) fn put_record(
        &mut self,
        at: Address,
        fields: &[Field],
        made: u32,
        unfit: &mut Unfit,
    ) -> Result<()> {
        let mut there = Word::Imm(0);
        let mut offset = 8;
        for (number, Field { name, ty }) in fields.iter().enumerate() {
            let place = at.plus(offset);
            let value = self.state.made_field(made, &Key::of_field(name));
            let bits = self.each_as(ty, &value, &mut |context, value| {
                let bit = if value == Abs::Nil { 0 } else { 1i64 << number };
                match value {
                    Abs::Nil => zero(context, place, ty.size()),
                    value => context.put(place, ty, &value, unfit)?,
                }
                Ok(vec![Abs::int(bit)])
            })?;
            if let Some(Abs::Int(bit)) = bits.first() {
                there = self.binary(BinaryOp::Or, there, *bit);
            }
            offset += ty.size() as i16;
        }
        if self.state.alive() {
            self.store(at.base, at.disp, Size::B8, there);
        }
        Ok(())
    }

    /// Writes a table made at packet time as a key, which has all fields.
    pub(super) fn put_key_record(
        &mut self,
        at: Address,
        fields: &[Field],
        made: u32,
        unfit: &mut Unfit,
    ) -> Result<()> {
        let mut disp = at.disp;
        for Field { name, ty } in fields {
            let value = self.state.made_field(made, &Key::of_field(name));
            self.each_as(ty, &value, &mut |context, value| {
                match (ty, &value) {
                    (Type::Record(inner), Abs::Object(Object::Made(made))) => {
                        context.put_key_record(Address { disp, ..at }, inner, *made, unfit)?;
                    }
                    _ => context.put(Address { disp, ..at }, ty, &value, unfit)?,
                }
                Ok(vec![])
            })?;
            disp += ty.key_size() as i16;
        }
        Ok(())
    }

    /// As [`Context::dispatch`], but for what the type has as it is: an address of either family stays one value, which is the same
    /// one afterwards.
    fn each_as(
        &mut self,
        ty: &Type,
        value: &Abs,
        body: &mut dyn FnMut(&mut Self, Abs) -> Result<Vec<Abs>>,
    ) -> Result<Vec<Abs>> {
        match *ty == Type::Address && is_address(value) {
            true => body(self, value.clone()),
            false => self.dispatch(value, body),
        }
    }
}

/// Whether the key is a table made at packet time, and the table's keys are declared to be such.
pub fn is_key_record(snapshot: &Snapshot, table: TableId, key: &Abs) -> bool {
    let declared = snapshot.table(table).declaration.as_ref().and_then(|declared| declared.key.as_ref());
    matches!((declared, key), (Some(Type::Record(_)), Abs::Object(Object::Made(_))))
}
