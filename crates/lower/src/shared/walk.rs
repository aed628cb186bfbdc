//! The keys of a shared table at one moment.
//!
//! A program cannot go from one entry of a map to the next. The kernel calls a function for each entry instead
//! (`bpf_for_each_map_elem`), and that function copies the keys to this CPU's region. What is done with an entry is done
//! afterwards, by looking it up: a value is the present one, and an entry that is gone by then is left out.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::state::Slot;
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::{BinaryOp, CompareOp, Op, Operand, Size};
use moonhook_shape::{MAX_KEY, Shape};
use moonhook_snapshot::TableId;
use std::rc::Rc;

const HELPER_FOR_EACH_ELEM: u32 = 164;

/// A traversal's part of the region: bytes of keys (`u64`), whether there was no room for all of them (`u64`), the time at
/// which entries must be alive (`u64`), then the keys.
const USED: i16 = 0;
const FULL: i16 = 8;
const NOW: i16 = 16;
const KEYS: i16 = 24;

/// How much of a table is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    All,
    /// One entry that is alive, if there is any.
    One,
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
    /// Where the keys of a table are copied by the traversal that has `depth` others around it; `None` for a table of which
    /// nothing is known, so that nothing is in it.
    pub(super) fn keys_of(&mut self, table: TableId, depth: u32) -> Result<Option<Keys>> {
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
        let limit = memory.min(i64::from(shape.capacity) * size);
        let start =
            self.region_size() + i64::from(depth) * (i64::from(KEYS) + mask_of(memory) + 1 + MAX_KEY as i64);
        let region = self.region_of(start + i64::from(KEYS) + mask_of(limit) + 1 + size)?;
        let part = self.emit(Op::Binary(BinaryOp::Add, region, Operand::Imm(start as i32)));
        Ok(Some(Keys { map, shape, part, limit }))
    }

    /// How many traversals are around this place.
    pub(super) fn traversals_around(&self) -> u32 {
        let all = self.state.registers.iter().chain(self.callers.iter().flatten());
        let depth = |slot: &Slot| match slot {
            Slot::Direct(Abs::Object(Object::Traversal { depth, .. })) => Some(depth + 1),
            _ => None,
        };
        all.filter_map(depth).max().unwrap_or(0)
    }

    /// Copies the keys; gives the number of their bytes.
    pub(super) fn copy_keys(&mut self, table: TableId, keys: &Keys, extent: Extent) -> Result<Word> {
        self.store(keys.part, USED, Size::B8, 0);
        self.store(keys.part, FULL, Size::B8, 0);
        if keys.shape.lifetime.is_some() {
            let now = self.now();
            self.store(keys.part, NOW, Size::B8, now);
        }
        let function = self.function_for_keys(keys, extent);
        self.for_each_entry(keys.map, function, keys.part.into());
        let full = self.load(keys.part, FULL, Size::B8, false);
        let full = self.compare(CompareOp::Ne, full, 0);
        let message = format!("table '{}' has too many entries to traverse", self.table_name(table));
        self.check(full, || Message::new(message));
        Ok(self.load(keys.part, USED, Size::B8, false))
    }

    /// Has the kernel call a function, `(map, key, value, &word)`, for each entry of a map until it gives 1.
    pub fn for_each_entry(&mut self, map: ir::MapId, function: ir::FunctionId, word: Word) {
        let slot = self.slot_for_context();
        self.store(slot, 0, Size::B8, word);
        let function = self.emit(Op::FunctionReference(function));
        let map = self.emit(Op::MapReference(map));
        self.helper(HELPER_FOR_EACH_ELEM, &[map.into(), function.into(), slot.into(), Word::Imm(0)]);
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
        let known = self.shared.slots.iter().find(|(id, _)| *id == CONTEXT).map(|(_, slot)| *slot);
        let slot = known.unwrap_or_else(|| {
            let slot = self.function.new_slot(8);
            self.shared.slots.push((CONTEXT, slot));
            slot
        });
        self.emit(Op::SlotAddress(slot))
    }

    /// The function that the kernel calls for each entry.
    fn function_for_keys(&mut self, keys: &Keys, extent: Extent) -> ir::FunctionId {
        let (size, lives) = (keys.shape.key_size(), keys.shape.lifetime.is_some());
        let one = if extent == Extent::One { "one" } else { "all" };
        let name = format!("copy_keys_{one}_{size}_{}{}", keys.limit, if lives { "_alive" } else { "" });
        self.known_subprogram(&name).unwrap_or_else(|| {
            let made = copying_function(name, keys, extent, self.loc);
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
    if keys.shape.lifetime.is_some() {
        let (deadline, now) = (code.load(value, 0), code.load(part, NOW));
        code.leave_if(CompareOp::ULe, deadline, now.into(), 0, None);
    }
    let (size, used) = (keys.shape.key_size() as i64, code.load(part, USED));
    let most = Operand::Imm((keys.limit - size) as i32);
    code.leave_if(CompareOp::UGt, used, most, 1, Some((part, FULL)));
    let at = code.add(part, used.into());
    for offset in (0..size as i16).step_by(8) {
        let word = code.load(key, offset);
        code.store(at, KEYS + offset, word.into());
    }
    let used = code.add(used, Operand::Imm(size as i32));
    code.store(part, USED, used.into());
    code.end(i32::from(extent == Extent::One));
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
        self.function.push(self.block, op, self.loc).unwrap_or(ir::Value(0))
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
        let (leave, stay) = (self.function.new_block(), self.function.new_block());
        let target = |block| ir::Target::new(block, vec![]);
        let condition = ir::Condition::new(op, lhs, rhs);
        let branch = ir::Terminator::Branch { condition, then: target(leave), otherwise: target(stay) };
        self.function.block_mut(self.block).terminator = Some((branch, self.loc));
        self.block = leave;
        if let Some((base, disp)) = note {
            self.store(base, disp, Operand::Imm(1));
        }
        self.end(result);
        self.block = stay;
    }
}
