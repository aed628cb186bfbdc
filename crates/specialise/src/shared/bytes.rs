//! Records whose bytes are made piece by piece, and then assigned: what general code does, in which no table is known field by field.

use super::keys::{Unfit, has_text};
use super::map_calls::ANY;
use crate::context::{Context, Result};
use crate::region::VALUE_START;
use crate::value::{Abs, Word};
use moonhook_ir::Size;
use moonhook_ir::words::{Address, PathState, Words};
use moonhook_schema::Type;
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// Memory for a value of the table; gives where the value begins in it, behind its deadline.
    pub fn room_for_value(&mut self, table: TableId) -> Result<Address> {
        let (_, schema) = self.settled_map(table)?;
        let base = self.room(schema.value_size(), has_text(&schema.value), VALUE_START)?;
        Ok(Address { base, disp: schema.value_offset() as i16 })
    }

    /// Memory for a record in a value.
    pub fn room_for_record(&mut self, ty: &Type) -> Result<Address> {
        Ok(Address { base: self.room(ty.size(), has_text(ty), VALUE_START)?, disp: 0 })
    }

    /// Writes a value whose type was looked at.
    pub fn put_checked(&mut self, table: TableId, at: Address, ty: &Type, value: &Abs) -> Result<()> {
        self.dispatch(value, &mut |context, value| {
            let mut unfit = Unfit::default();
            context.put(at, ty, &value, &mut unfit)?;
            context.fail_unfit(table, "value", unfit)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Assigns the value that was made in [`Context::room_for_value`] to a key.
    pub fn assign_bytes(&mut self, table: TableId, key: &Abs, value: Address) -> Result<()> {
        let (map, schema) = self.settled_map(table)?;
        let address = self.fitting_key(table, &schema, key)?;
        if !self.state.alive() {
            return Ok(());
        }
        if let Some(lifetime) = schema.lifetime {
            let deadline = self.deadline(lifetime);
            self.store(value.base, 0, Size::B8, deadline);
        }
        self.put_version(table, &schema, value.base);
        let unless_there = match schema.per_cpu {
            true => Word::Imm(ANY),
            false => self.known.shared.seen_absent.unwrap_or(Word::Imm(ANY)),
        };
        self.assign_whole(table, map, &schema, [address, value.base], unless_there)?;
        self.entries_change(table);
        Ok(())
    }

    /// Replaces a record in an entry by what was made in [`Context::room_for_record`].
    pub fn replace_record(&mut self, path: u32, base: Word, name: &str, value: Address) -> Result<()> {
        let (table, _) = self.known.shared.paths[path as usize];
        let Some((at, ty)) = self.record_of(path, base)? else { return Ok(()) };
        let Some((number, offset, ty)) = ty.field(name) else { return Ok(()) };
        self.prolong(table, at.base)?;
        for word in (0..ty.size() as i16).step_by(8) {
            let bytes = self.load(value.base, value.disp + word, Size::B8, false);
            self.store(at.base, at.disp + offset as i16 + word, Size::B8, bytes);
        }
        self.set_there(at, number, true)
    }
}
