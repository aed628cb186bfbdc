//! Reading an entry by its key: one lookup for what is surely the same key, as long as nothing that this handler does can change
//! what it gives.

use super::keys::Unfit;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::shared::additions::Additions;
use crate::shared::map_calls::lookup;
use crate::state::{State, Zero};
use crate::value::{Abs, Identity, Word};
use moonhook_ir as ir;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// `table[key]`, with one arm for each way of finding something or nothing.
    pub(super) fn read_by_key(
        &mut self,
        table: TableId,
        map: ir::MapId,
        schema: &Schema,
        key: &Abs,
    ) -> Result<Vec<Arm>> {
        let identity = self.state.key_identity(&self.code.same, key);
        let known = self.state.facts.looked(table, &identity);
        let (address, zero) =
            known.map_or((Word::Imm(0), Zero::Unknown), |known| (known.address, known.zero));
        let mut arms = Vec::new();
        let counts = schema.value == Type::Integer;
        let address = match (address, zero) {
            // Where it is counted as 0, something may be added to it: a value that is told from the entry's own, which has no address.
            (Word::Imm(_), Zero::Absent) if counts => Some(self.value(Word::Imm(0))),
            (Word::Imm(_), Zero::Never | Zero::Absent) => return self.only(Abs::Nil),
            (Word::Value(entry), Zero::Never) => return self.entry_arms(table, key, schema, entry),
            (Word::Value(address), Zero::Absent) => Some(address),
            (known, Zero::Unknown) => self.look_up(table, map, schema, key, known, &mut arms)?,
        };
        let identity = self.state.key_identity(&self.code.same, key);
        if let Some(address) = address {
            let missing = self.compare(CompareOp::Eq, address, 0);
            let (missing, found) = self.split(missing);
            arms.push(self.known.shared.additions.missing(table, &identity, missing, address));
            self.state = found;
            self.leave_expired(table, &identity, schema, address, &mut arms);
            self.state.facts.found_looked(table, &identity, address.into());
            arms.extend(self.entry_arms(table, key, schema, address)?);
        }
        Ok(arms)
    }

    /// The entry's address, or 0 if there is none; `known` is the address on some of the paths here, and 0 on the others. Where no
    /// entry can have such a key, `arms` get nil.
    fn look_up(
        &mut self,
        table: TableId,
        map: ir::MapId,
        schema: &Schema,
        key: &Abs,
        known: Word,
        arms: &mut Vec<Arm>,
    ) -> Result<Option<ir::Value>> {
        let mut paths = Vec::new();
        if let Word::Value(_) = known {
            let unknown = self.compare(CompareOp::Eq, known, 0);
            let (unknown, found) = self.split(unknown);
            paths.push(Arm { state: found, values: vec![Abs::Int(known)] });
            self.state = unknown;
            self.make_cold();
        }
        let mut unfit = Unfit::default();
        let bytes = self.key_address(&schema.key, key, &mut unfit)?;
        // As it is where it fits: a field of it may have been one of several types before.
        let identity = self.state.key_identity(&self.code.same, key);
        if self.state.alive() {
            if self.is_copied(table) {
                paths.extend(self.look_up_and_copy((table, &identity), (map, schema), bytes)?);
            } else {
                let found = lookup(self, map, bytes);
                paths.push(Arm { state: self.take_state(), values: vec![Abs::Int(found.into())] });
            }
        }
        let joined = self.join(paths)?;
        let Some([Abs::Int(Word::Value(address))]) = joined.as_deref() else {
            arms.extend(unfit.states().into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }));
            return Ok(None);
        };
        let identity = self.state.key_identity(&self.code.same, key);
        self.known.shared.additions.note_lookup(table, identity.clone(), *address);
        // Such a key is as absent as one that was looked for: what the handler does then, it does on either path.
        let never = unfit
            .states()
            .into_iter()
            .map(|state| self.known.shared.additions.missing(table, &identity, state, *address));
        arms.extend(never);
        Ok(Some(*address))
    }
}

impl Additions {
    /// The path on which there is no such entry.
    pub fn missing(&mut self, table: TableId, key: &Identity, mut state: State, address: ir::Value) -> Arm {
        self.note_no_entry(&mut state, address.into());
        state.facts.absent.push(address);
        state.facts.set_looked(table, key, Word::Imm(0), Zero::Absent);
        Arm { state, values: vec![Abs::Nil] }
    }
}
