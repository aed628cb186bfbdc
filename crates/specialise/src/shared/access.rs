//! Reading entries.

use super::additions::{At, Load};
use super::keys::is_address;
use super::{Seen, SeenType};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::shared::additions::Additions;
use crate::shared::virtual_tables::is_key_record;
use crate::state::{Facts, Zero};
use crate::value::{Abs, Identity, Str, Word, integral};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{CompareOp, Size};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// `table[key]`, with one arm for each way of finding something or nothing.
    pub fn read_shared(&mut self, table: TableId, key: &Abs) -> Result<Vec<Arm>> {
        if let Abs::Float(x @ Word::Value(_)) = key {
            return self.read_float_key(*x, &mut |context, key| context.read_shared(table, key));
        }
        let key = &plain_key(key);
        if self.shared_map(table)?.is_none() {
            return self.read_untyped(table, key);
        }
        if self.is_split(table, key)? {
            return self.arms_of_each(key, &mut |context, key| context.read_shared(table, key));
        }
        if matches!(key, Abs::Nil | Abs::Float(_) | Abs::Object(_) | Abs::Entry { .. })
            && !is_key_record(self.snapshot, table, key)
        {
            return self.only(Abs::Nil);
        }
        let Some((map, schema)) = self.shared_map(table)? else { return self.only(Abs::Nil) };
        self.check_comparable(table, &schema.key, key)?;
        self.read_by_key(table, map, &schema, key)
    }

    /// Reads a table of which no value was seen so far. If that remains so, user space is to write it, and only its declaration
    /// can tell what.
    fn read_untyped(&mut self, table: TableId, key: &Abs) -> Result<Vec<Arm>> {
        if self.snapshot.table(table).declaration.is_some()
            && !matches!(key, Abs::Float(_))
            && self.known.shared.know(self.snapshot, table).key.is_empty()
        {
            let seen = self.seen(table, key)?;
            self.note(table, &seen, &Seen::default())?;
        }
        self.note_untyped(table);
        self.only(Abs::Nil)
    }

    /// The value of an entry that is there.
    pub(super) fn entry_arms(
        &mut self,
        table: TableId,
        key: &Abs,
        schema: &Schema,
        entry: ir::Value,
    ) -> Result<Vec<Arm>> {
        if let Type::Record(_) = schema.value {
            let record = self.known.shared.entry(table, Vec::new(), entry);
            return self.only(record);
        }
        let at = Address { base: entry, disp: schema.value_offset() as i16 };
        let found = self.value_arms(at, &schema.value)?;
        self.note_read_of_entry(table, Vec::new(), &schema.value, &found);
        self.known.shared.additions.note_loaded(
            Load {
                table,
                key: Some(self.state.key_identity(&self.code.same, key)),
                at: At::Place(at),
                marker: entry,
                since: entry.0,
            },
            &found,
        );
        Ok(found)
    }

    /// Strings made at packet time are used as keys where only addresses were seen: notes that, or refuses it.
    pub(super) fn check_comparable(&mut self, table: TableId, declared: &Type, key: &Abs) -> Result<()> {
        let (
            Type::Ipv4 | Type::Address | Type::Mac | Type::Prefix4 | Type::Prefix6,
            Abs::Str(Str::Slice { .. } | Str::Cased { .. }),
        ) = (declared, key)
        else {
            return Ok(());
        };
        if self.around.parses_addresses() {
            return Ok(());
        }
        self.note(table, &Seen::kind(SeenType::Text), &Seen::default())?;
        let help = format!(
            "use addresses of packets (`pkt.ip.src`), or declare the key a string, not \"{declared}\""
        );
        let name = self.snapshot.table_name(table);
        let what =
            format!("a string made of packet bytes as an address, a key of the shared table `{name}`,");
        self.unsupported(what, help, Some(name))
    }

    /// Whether each type that the key may have is looked up by itself.
    pub(super) fn is_split(&mut self, table: TableId, key: &Abs) -> Result<bool> {
        let Abs::Union(_) = key else { return Ok(false) };
        let known = self.shared_map(table)?;
        Ok(!known.is_some_and(|(_, schema)| schema.key == Type::Address && is_address(key)))
    }

    /// Leaves where the entry's time is over.
    pub(super) fn leave_expired(
        &mut self,
        table: TableId,
        key: &Identity,
        schema: &Schema,
        entry: ir::Value,
        arms: &mut Vec<Arm>,
    ) {
        if schema.lifetime.is_none() {
            return;
        }
        let deadline = self.load(entry, 0, Size::B8, false);
        let now = self.now();
        let expired = self.compare(CompareOp::ULe, deadline, now);
        let (expired, alive) = self.split(expired);
        arms.push(self.known.shared.additions.missing(table, key, expired, entry));
        self.state = alive;
    }
}

impl Facts {
    /// Whether the handler has seen that there is no entry with the key.
    pub(super) fn is_absent(&self, additions: &Additions, table: TableId, key: &Identity) -> bool {
        let facts = &self;
        let looked = facts.looked(table, key).map(|looked| (looked.address, looked.zero));
        looked == Some((Word::Imm(0), Zero::Absent)) || additions.is_absent(table, key, facts)
    }
}

/// The key with floats of integral value as integers (manual § 2.1).
pub(super) fn plain_key(key: &Abs) -> Abs {
    match key {
        Abs::Float(_) => key.known_float().and_then(integral).map_or_else(|| key.clone(), Abs::int),
        key => key.clone(),
    }
}
