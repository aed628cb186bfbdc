//! What does not fit into a map: keys and values that are too long or of another type, and entries that find no room.

use super::keys::Unfit;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_schema::Schema;
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// The bytes of a key; an error where it does not fit.
    pub(super) fn fitting_key(&mut self, table: TableId, schema: &Schema, key: &Abs) -> Result<ir::Value> {
        let mut unfit = Unfit::default();
        let address = self.key_address(&schema.key, key, &mut unfit)?;
        self.fail_unfit(table, "key", unfit)?;
        Ok(address)
    }

    pub(super) fn fitting_value(
        &mut self,
        table: TableId,
        schema: &Schema,
        value: &Abs,
    ) -> Result<ir::Value> {
        let mut unfit = Unfit::default();
        let address = self.value_address(schema, value, &mut unfit)?;
        self.fail_unfit(table, "value", unfit)?;
        if self.state.alive() {
            self.put_version(table, schema, address);
        }
        Ok(address)
    }

    pub(super) fn fail_unfit(&mut self, table: TableId, what: &str, unfit: Unfit) -> Result<()> {
        let name = self.snapshot.table_name(table).to_string();
        self.fail_in(unfit.too_long, |context| {
            context.fail(Message::new(format!("{what} too long for table '{name}'")));
            Ok(())
        })?;
        for (state, expected, got) in unfit.wrong {
            let after = std::mem::replace(&mut self.state, state);
            let message = format!("bad {what} for table '{name}' ({expected} expected, got {got})");
            let certain = !after.alive();
            self.type_error(message, certain, Some(&name));
            self.state = after;
        }
        Ok(())
    }

    /// The only reasons for which an update of such maps fails are that there is no room (`-E2BIG`, `-ENOMEM`) or that
    /// memory for it is being taken by whom this program interrupted (`-EBUSY`).
    pub(super) fn check_full(&mut self, table: TableId, result: Word) {
        let failed = self.compare(CompareOp::SLt, result, 0);
        let message = format!("table '{}' is full", self.snapshot.table_name(table));
        self.check(failed, || Message::new(message));
    }
}
