//! The keys of a shared table at one moment.
//!
//! A program cannot go from one entry of a map to the next. The kernel calls a function for each entry instead
//! (`bpf_for_each_map_elem`), and that function copies the keys to this CPU's region. What is done with an entry is done
//! afterwards, by looking it up: a value is the present one, and an entry that is gone by then is left out.
//!
//! A step from one key to the next has an order of its own, that of the keys' words. The map's order would not do: an entry
//! that is replaced moves to the front of its bucket (`htab_map_update_elem` in `kernel/bpf/hashtab.c`), so that a loop that
//! assigns what it visits might never end, and of a key that is gone nothing would tell what comes behind it.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::state::Slot;
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::helper;
use moonhook_ir::{BinaryOp, CompareOp, Op, Operand, Size};
use moonhook_shape::{MAX_KEY, Shape, Type};
use moonhook_snapshot::TableId;
use std::rc::Rc;

/// A traversal's part of the region: bytes of keys (`u64`), whether there was no room for all of them (`u64`), the time at
/// which entries must be alive (`u64`), then the keys. A step ([`Extent::Next`]) has room for three: the one that is found,
/// the one to start behind, and the one being looked at. It has in `FULL` whether there is one to start behind.
const USED: i16 = 0;
const FULL: i16 = 8;
const NOW: i16 = 16;
const KEYS: i16 = 24;
const BEHIND: i16 = FULL;

/// Places of a table's capacity that are looked through for one step of the budget.
const PLACES_PER_STEP: u32 = 64;

/// How much of a table is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    All,
    /// One entry that is alive, if there is any.
    One,
    /// The entry whose key is the least one, or the least behind a given one.
    Next,
}

/// Where a traversal's keys are: a map and its shape, and the traversal's part of the region.
pub(super) struct Keys {
    pub map: ir::MapId,
    pub shape: Rc<Shape>,
    part: ir::Value,
    /// Bytes of keys at most.
    limit: i64,
}

impl Context<'_> {
    /// Where keys of a table are copied by the traversal that has `depth` others around it; `None` for a table of which
    /// nothing is known, so that nothing is in it.
    pub(super) fn keys_of(&mut self, table: TableId, depth: u32, extent: Extent) -> Result<Option<Keys>> {
        let Some((map, shape)) = self.shared_map(table)? else {
            self.note_untyped(table);
            return Ok(None);
        };
        if shape.is_prefixes() {
            let help = "keep the prefixes in a second table too, with strings as keys, and traverse that one";
            return self.refuse_shared(table, "traversing the prefixes of", help);
        }
        let size = shape.key_size() as i64;
        let memory = i64::from(self.options.memory).max(size);
        let limit = match extent {
            Extent::All => memory.min(i64::from(shape.capacity) * size),
            Extent::One => size,
            Extent::Next => 2 * size,
        };
        let start =
            self.region_size() + i64::from(depth) * (i64::from(KEYS) + mask_of(memory) + 1 + MAX_KEY as i64);
        let region = self.region_of(start + i64::from(KEYS) + mask_of(limit) + 1 + size)?;
        let part = self.emit(Op::Binary(BinaryOp::Add, region, Operand::Imm(start as i32)));
        Ok(Some(Keys { map, shape, part, limit }))
    }

    /// How many traversals are around this place.
    pub(super) fn traversals_around(&self) -> u32 {
        let all =
            self.state.registers.iter().chain(self.callers.iter().flat_map(|registers| registers.iter()));
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
        if keys.shape.lifetime.is_some() {
            let now = self.now();
            self.store(keys.part, NOW, Size::B8, now);
        }
        let function = self.function_for_keys(keys, extent);
        self.for_each_entry(keys.map, function, keys.part.into());
        if extent == Extent::All {
            let full = self.load(keys.part, FULL, Size::B8, false);
            let full = self.compare(CompareOp::Ne, full, 0);
            let message = format!("table '{}' has too many entries to traverse", self.table_name(table));
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
            let left = self.sub(self.state.budget, i64::from(keys.shape.capacity / PLACES_PER_STEP));
            self.state.budget = self.unknown(left);
        }
    }

    /// The next step starts behind the key at an address, or before all keys.
    pub(super) fn start_behind(&mut self, keys: &Keys, key: Option<ir::Value>) {
        let size = keys.shape.key_size() as i16;
        self.store(keys.part, BEHIND, Size::B8, i64::from(key.is_some()));
        let Some(key) = key else { return };
        for offset in (0..size).step_by(8) {
            let word = self.load(key, offset, Size::B8, false);
            self.store(keys.part, KEYS + size + offset, Size::B8, word);
        }
    }

    /// The address of the key whose first byte is so many bytes behind the first key's.
    pub(super) fn key_at(&mut self, keys: &Keys, offset: Word) -> Result<ir::Value> {
        let first = self.emit(Op::Binary(BinaryOp::Add, keys.part, Operand::Imm(i32::from(KEYS))));
        // The verifier is told that it lies within the limit.
        Ok(self.masked(first, offset, mask_of(keys.limit))?.base)
    }

    /// Eight bytes of stack, for what is passed to the function that copies keys.
    fn slot_for_context(&mut self) -> ir::Value {
        const CONTEXT: u32 = 0;
        let slot = self.known.shared.slot(CONTEXT, 8, &mut self.function);
        self.emit(Op::SlotAddress(slot))
    }

    /// The function that the kernel calls for each entry.
    fn function_for_keys(&mut self, keys: &Keys, extent: Extent) -> ir::FunctionId {
        let (size, lives) = (keys.shape.key_size(), keys.shape.lifetime.is_some());
        let integers = keys.shape.key == Type::Integer;
        let what = match extent {
            Extent::All => "copy_keys_all",
            Extent::One => "copy_keys_one",
            Extent::Next if integers => "next_integer",
            Extent::Next => "next_key",
        };
        let name = format!("{what}_{size}_{}{}", keys.limit, if lives { "_alive" } else { "" });
        self.known_subprogram(&name).unwrap_or_else(|| {
            let made = match extent {
                Extent::Next => stepping_function(name, keys, self.loc),
                _ => copying_function(name, keys, extent, self.loc),
            };
            self.place_subprogram(made)
        })
    }

    /// Goes on where the table has an entry with the key at an address, and gives the entry; leaves where it has none.
    pub(super) fn present_entry(
        &mut self,
        map: ir::MapId,
        shape: &Shape,
        key: ir::Value,
        missing: &mut Vec<crate::state::State>,
    ) -> ir::Value {
        let entry = self.lookup(map, key);
        let none = self.compare(CompareOp::Eq, entry, 0);
        self.leave_if(none, missing);
        if shape.lifetime.is_some() {
            let deadline = self.load(entry, 0, Size::B8, false);
            let now = self.now();
            let expired = self.compare(CompareOp::ULe, deadline, now);
            self.leave_if(expired, missing);
        }
        entry
    }
}

/// The lowest bits that hold every offset below `limit`.
fn mask_of(limit: i64) -> i64 {
    (limit as u64).next_power_of_two() as i64 - 1
}

/// `long copy(map, key, value, part)`: appends the key to the traversal's part of the region, unless the entry's time is over;
/// gives 1 where no other entry is wanted.
fn copying_function(name: String, keys: &Keys, extent: Extent, loc: ir::Loc) -> ir::Function {
    let kind = ir::FunctionKind::Subprogram { global: false, context: false };
    let mut function = ir::Function::new(name, kind, 4);
    let (key, value, context) = (function.params[1], function.params[2], function.params[3]);
    let mut code = Code { function: &mut function, block: ir::Block(0), loc };
    let part = code.load(context, 0);
    code.leave_expired(keys, value, part);
    let (size, used) = (keys.shape.key_size() as i64, code.load(part, USED));
    let most = Operand::Imm((keys.limit - size) as i32);
    code.leave_if(CompareOp::UGt, used, most, 1, Some((part, FULL)));
    let at = code.add(part, used.into());
    code.copy_words(size as i16, (key, 0), (at, KEYS));
    let used = code.add(used, Operand::Imm(size as i32));
    code.store(part, USED, used.into());
    code.end(i32::from(extent == Extent::One));
    function
}

/// `long step(map, key, value, part)`: the key becomes the one that is found if it lies behind the one to start behind, and before
/// the one found so far. Works on a copy: another CPU may give the entry's memory to another key at any time.
fn stepping_function(name: String, keys: &Keys, loc: ir::Loc) -> ir::Function {
    let kind = ir::FunctionKind::Subprogram { global: false, context: false };
    let mut function = ir::Function::new(name, kind, 4);
    let (key, value, context) = (function.params[1], function.params[2], function.params[3]);
    let mut code = Code { function: &mut function, block: ir::Block(0), loc };
    let part = code.load(context, 0);
    code.leave_expired(keys, value, part);
    let size = keys.shape.key_size() as i16;
    let (found, start, present) = (KEYS, KEYS + size, KEYS + 2 * size);
    code.copy_words(size, (key, 0), (part, present));
    let [behind, take] = [0; 2].map(|_| code.function.new_block());
    let compared = code.unless(CompareOp::Eq, (part, BEHIND), behind);
    code.block = compared;
    code.compare_words(keys, part, [present, start], [CompareOp::UGt, CompareOp::ULt], behind);
    code.block = behind;
    let compared = code.unless(CompareOp::Eq, (part, USED), take);
    code.block = compared;
    code.compare_words(keys, part, [present, found], [CompareOp::ULt, CompareOp::UGt], take);
    code.block = take;
    code.copy_words(size, (part, present), (part, found));
    code.store(part, USED, Operand::Imm(i32::from(size)));
    code.end(0);
    function
}

/// A function being made, and where code is appended.
struct Code<'a> {
    function: &'a mut ir::Function,
    block: ir::Block,
    loc: ir::Loc,
}

impl Code<'_> {
    fn push(&mut self, op: Op) -> ir::Value {
        self.function.push(self.block, op, self.loc).unwrap_or(ir::Value::NONE)
    }

    fn load(&mut self, base: ir::Value, disp: i16) -> ir::Value {
        self.push(Op::Load { size: Size::B8, signed: false, base, disp })
    }

    fn store(&mut self, base: ir::Value, disp: i16, value: Operand) {
        self.push(Op::Store { size: Size::B8, base, disp, value });
    }

    fn add(&mut self, lhs: ir::Value, rhs: Operand) -> ir::Value {
        self.push(Op::Binary(BinaryOp::Add, lhs, rhs))
    }

    fn copy_words(&mut self, size: i16, from: (ir::Value, i16), to: (ir::Value, i16)) {
        for offset in (0..size).step_by(8) {
            let word = self.load(from.0, from.1 + offset);
            self.store(to.0, to.1 + offset, word.into());
        }
    }

    /// Leaves with 0 where the time of the entry is over.
    fn leave_expired(&mut self, keys: &Keys, value: ir::Value, part: ir::Value) {
        if keys.shape.lifetime.is_some() {
            let (deadline, now) = (self.load(value, 0), self.load(part, NOW));
            self.leave_if(CompareOp::ULe, deadline, now.into(), 0, None);
        }
    }

    /// Goes to `target` where a word of the part compares so with 0; gives the block where it does not.
    fn unless(&mut self, op: CompareOp, (part, disp): (ir::Value, i16), target: ir::Block) -> ir::Block {
        let word = self.load(part, disp);
        self.branch(op, word, Operand::Imm(0), target)
    }

    /// Compares the keys at two places of a part by their first words that differ: goes to `target` where the first comparison
    /// holds, and leaves with 0 where the second one does or the keys are equal.
    fn compare_words(
        &mut self,
        keys: &Keys,
        part: ir::Value,
        [one, other]: [i16; 2],
        [goes, leaves]: [CompareOp; 2],
        target: ir::Block,
    ) {
        let signed = |op: CompareOp| match (op, &keys.shape.key) {
            (CompareOp::UGt, Type::Integer) => CompareOp::SGt,
            (CompareOp::ULt, Type::Integer) => CompareOp::SLt,
            (op, _) => op,
        };
        for offset in (0..keys.shape.key_size() as i16).step_by(8) {
            let (a, b) = (self.load(part, one + offset), self.load(part, other + offset));
            self.block = self.branch(signed(goes), a, b.into(), target);
            self.leave_if(signed(leaves), a, b.into(), 0, None);
        }
        self.end(0);
    }

    /// Goes to `target` where the comparison holds; gives the block where it does not.
    fn branch(&mut self, op: CompareOp, lhs: ir::Value, rhs: Operand, target: ir::Block) -> ir::Block {
        let stay = self.function.new_block();
        let to = |block| ir::Target::new(block, vec![]);
        let condition = ir::Condition::new(op, lhs, rhs);
        let branch = ir::Terminator::Branch { condition, then: to(target), otherwise: to(stay) };
        self.function.block_mut(self.block).terminator = Some((branch, self.loc));
        stay
    }

    fn end(&mut self, result: i32) {
        let end = ir::Terminator::Return(Operand::Imm(result));
        self.function.block_mut(self.block).terminator = Some((end, self.loc));
    }

    /// Returns `result` where the comparison holds, after a 1 is stored at `note`.
    fn leave_if(
        &mut self,
        op: CompareOp,
        lhs: ir::Value,
        rhs: Operand,
        result: i32,
        note: Option<(ir::Value, i16)>,
    ) {
        let leave = self.function.new_block();
        let stay = self.branch(op, lhs, rhs, leave);
        self.block = leave;
        if let Some((base, disp)) = note {
            self.store(base, disp, Operand::Imm(1));
        }
        self.end(result);
        self.block = stay;
    }
}
