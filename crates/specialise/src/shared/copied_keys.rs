//! The keys of a shared table at one moment.
//!
//! A program cannot go from one entry of a map to the next. The kernel calls a function for each entry instead
//! (`bpf_for_each_map_elem`), and that function copies the keys to this CPU's region. What is done with an entry is done
//! afterwards, by looking it up: a value is the present one, and an entry that is gone by then is left out.
//!
//! A step from one key to the next has an order of its own, that of the keys' words. The map's order would not do: an entry
//! that is replaced moves to the front of its bucket (`htab_map_update_elem` in `kernel/bpf/hashtab.c`), so that a loop that
//! assigns what it visits might never end, and of a key that is gone nothing would tell what comes behind it.

use super::key_functions::{copying_function, stepping_function};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::shared::map_calls::lookup;
use crate::state::Slot;
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Operand, Size, helper};
use moonhook_schema::{MAX_KEY, Schema, Type};
use moonhook_snapshot::TableId;
use std::rc::Rc;

/// A traversal's part of the region: bytes of keys (`u64`), whether there was no room for all of them (`u64`), the time at
/// which entries must be alive (`u64`), then the keys. A step ([`Extent::Next`]) has room for three: the one that is found,
/// the one to start behind, and the one being looked at. It has in `FULL` whether there is one to start behind.
pub(super) const USED: i16 = 0;
pub(super) const FULL: i16 = 8;
pub(super) const NOW: i16 = 16;
pub(super) const KEYS: i16 = 24;
pub(super) const BEHIND: i16 = FULL;

/// Places of a table's capacity that are looked through for one step of the budget.
const PLACES_PER_STEP: u32 = 64;

/// How much of a table is looked through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    All,
    /// One entry that is alive, if there is any.
    One,
    /// The entry whose key is the least one, or the least behind a given one.
    Next,
}

/// Where a traversal's keys are: a map and its schema, and the traversal's part of the region.
pub(super) struct Keys {
    pub map: ir::MapId,
    pub schema: Rc<Schema>,
    part: ir::Value,
    /// Bytes of keys at most.
    pub limit: i64,
}

impl Context<'_> {
    /// Where keys of a table are copied by the traversal that has `depth` others around it; `None` for a table of which
    /// nothing is known, so that nothing is in it.
    pub(super) fn keys_of(&mut self, table: TableId, depth: u32, extent: Extent) -> Result<Option<Keys>> {
        let Some((map, schema)) = self.shared_map(table)? else {
            self.note_untyped(table);
            return Ok(None);
        };
        if schema.is_prefixes() {
            let help = "keep the prefixes in a second table too, with strings as keys, and traverse that one";
            return self.refuse_shared(table, "traversing the prefixes of", help);
        }
        let size = schema.key_size() as i64;
        let memory = i64::from(self.options.memory).max(size);
        let limit = match extent {
            Extent::All => memory.min(i64::from(schema.capacity) * size),
            Extent::One => size,
            Extent::Next => 2 * size,
        };
        let start = self.known.stored.region_size(self.options)
            + i64::from(depth) * (i64::from(KEYS) + mask_of(memory) + 1 + MAX_KEY as i64);
        let region = self.region_of(start + i64::from(KEYS) + mask_of(limit) + 1 + size)?;
        let part = self.emit(Op::Binary(BinaryOp::Add, region, Operand::Imm(start as i32)));
        Ok(Some(Keys { map, schema, part, limit }))
    }

    /// How many traversals are around this place.
    pub(super) fn traversals_around(&self) -> u32 {
        let all = self
            .state
            .registers
            .iter()
            .chain(self.execution.callers.iter().flat_map(|registers| registers.iter()));
        let depth = |slot: &Slot| match slot {
            Slot::Direct(Abs::Object(Object::Traversal { depth, .. })) => Some(depth + 1),
            _ => None,
        };
        all.filter_map(depth).max().unwrap_or(0)
    }

    /// Copies the keys; gives the number of their bytes.
    pub(super) fn copy_keys(&mut self, table: TableId, keys: &Keys, extent: Extent) -> Result<Word> {
        self.store(keys.part, USED, Size::B8, 0);
        if extent != Extent::Next {
            self.store(keys.part, FULL, Size::B8, 0);
        }
        if keys.schema.lifetime.is_some() {
            let now = self.now();
            self.store(keys.part, NOW, Size::B8, now);
        }
        let function = self.function_for_keys(keys, extent);
        self.for_each_entry(keys.map, function, keys.part.into());
        if extent == Extent::All {
            let full = self.load(keys.part, FULL, Size::B8, false);
            let full = self.compare(CompareOp::Ne, full, 0);
            let message =
                format!("table '{}' has too many entries to traverse", self.snapshot.table_name(table));
            self.check(full, || Message::new(message));
        }
        if extent != Extent::One {
            self.spend_look(keys);
        }
        Ok(self.load(keys.part, USED, Size::B8, false))
    }

    /// Has the kernel call a function, `(map, key, value, &word)`, for each entry of a map until it gives 1.
    pub fn for_each_entry(&mut self, map: ir::MapId, function: ir::FunctionId, word: Word) {
        let slot = self.slot_for_context();
        self.store(slot, 0, Size::B8, word);
        let function = self.emit(Op::FunctionReference(function));
        let map = self.emit(Op::MapReference(map));
        self.helper(helper::FOR_EACH_MAP_ELEM, &[map.into(), function.into(), slot.into(), Word::Imm(0)]);
    }

    /// Looking through a whole table takes time, whatever is in it. Who goes on in a loop finds the budget exhausted.
    pub(super) fn spend_look(&mut self, keys: &Keys) {
        if self.metered() {
            let left = self.sub(self.state.budget, i64::from(keys.schema.capacity / PLACES_PER_STEP));
            self.state.budget = self.unknown(left);
        }
    }

    /// Eight bytes of stack, for what is passed to the function that copies keys.
    fn slot_for_context(&mut self) -> ir::Value {
        const CONTEXT: u32 = 0;
        let slot = self.known.shared.slot(CONTEXT, 8, &mut self.code.function);
        self.emit(Op::SlotAddress(slot))
    }

    /// The function that the kernel calls for each entry.
    fn function_for_keys(&mut self, keys: &Keys, extent: Extent) -> ir::FunctionId {
        let (size, lives) = (keys.schema.key_size(), keys.schema.lifetime.is_some());
        let integers = keys.schema.key == Type::Integer;
        let what = match extent {
            Extent::All => "copy_keys_all",
            Extent::One => "copy_keys_one",
            Extent::Next if integers => "next_integer",
            Extent::Next => "next_key",
        };
        let name = format!("{what}_{size}_{}{}", keys.limit, if lives { "_alive" } else { "" });
        self.known_subprogram(&name).unwrap_or_else(|| {
            let made = match extent {
                Extent::Next => stepping_function(&name, keys, self.code.loc),
                _ => copying_function(&name, keys, extent, self.code.loc),
            };
            self.place_subprogram(made)
        })
    }

    /// Goes on where the table has an entry with the key at an address, and gives the entry; leaves where it has none.
    pub(super) fn present_entry(
        &mut self,
        map: ir::MapId,
        schema: &Schema,
        key: ir::Value,
        missing: &mut Vec<crate::state::State>,
    ) -> ir::Value {
        let entry = lookup(self, map, key);
        let none = self.compare(CompareOp::Eq, entry, 0);
        self.leave_if(none, missing);
        if schema.lifetime.is_some() {
            let deadline = self.load(entry, 0, Size::B8, false);
            let now = self.now();
            let expired = self.compare(CompareOp::ULe, deadline, now);
            self.leave_if(expired, missing);
        }
        entry
    }
}

/// The next step starts behind the key at an address, or before all keys.
pub fn start_behind(words: &mut impl Words, keys: &Keys, key: Option<ir::Value>) {
    let size = keys.schema.key_size() as i16;
    words.store(keys.part, BEHIND, Size::B8, i64::from(key.is_some()));
    let Some(key) = key else { return };
    for offset in (0..size).step_by(8) {
        let word = words.load(key, offset, Size::B8, false);
        words.store(keys.part, KEYS + size + offset, Size::B8, word);
    }
}

/// The address of the key whose first byte is so many bytes behind the first key's.
pub fn key_at(words: &mut impl Words, keys: &Keys, offset: Word) -> Result<ir::Value> {
    let first = words.emit(Op::Binary(BinaryOp::Add, keys.part, Operand::Imm(i32::from(KEYS))));
    // The verifier is told that it lies within the limit.
    Ok(words.masked(first, offset, mask_of(keys.limit)).base)
}

/// The lowest bits that hold every offset below `limit`.
fn mask_of(limit: i64) -> i64 {
    (limit as u64).next_power_of_two() as i64 - 1
}
