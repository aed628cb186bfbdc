//! Global value numbering: an operation whose result is already there, on every path to it, is replaced by that result.
//!
//! Walks the dominator tree with a scoped table of pure operations and loads. A load is the same as an earlier one if no
//! store, call or join of paths lies between that could change the bytes (a store to other bytes behind the same address cannot); loads from read-only data and, unless something
//! moves the packet, from the context are the same everywhere. Loads from writable data sections are never merged: other
//! CPUs write there, and lowering reads them to make the verifier forget bounds.
//! Constants and addresses of data, slots and maps get the same number wherever they are, so that what is computed from
//! them can be merged, but they themselves are merged only between calls within a block: it costs less to make one again
//! than to keep it in a register. Leaves replaced operations behind (`dce`).

use crate::Around;
use crate::helpers::{Effect, effect, moves_packet};
use crate::values::Replacements;
use moonhook_ir::*;
use rustc_hash::FxHashMap;

pub(crate) fn run(function: &mut Function, around: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let mut numbering = Numbering::new(function, around.maps);
    // The walk's stack: blocks to enter, and lengths to cut the log to when their subtrees are done.
    let mut stack = vec![Step::Enter(Block(0))];
    while let Some(step) = stack.pop() {
        match step {
            Step::Leave(length) => numbering.forget(length),
            Step::Enter(block) => {
                stack.push(Step::Leave(numbering.log.len()));
                stack.extend(flow.dominated(block).iter().map(|child| Step::Enter(*child)));
                let before = flow.single_predecessor(block).filter(|_| block != Block(0));
                numbering.block(function, block, before);
            }
        }
    }
    numbering.replacements.apply(function)
}

/// Whether some store has the context itself as its base (the kernel allows no other way).
fn writes_to(function: &Function, context: Option<Value>) -> bool {
    let mut insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.any(|inst| match inst.op {
        Op::Store { base, .. } | Op::Atomic { base, .. } => Some(base) == context,
        _ => false,
    })
}

enum Step {
    Enter(Block),
    Leave(usize),
}

/// What a pointer points to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Context,
    Packet,
    Stack,
    ReadOnlyData,
    Data,
    MapValue,
    Arena,
    Unknown,
}

const REGIONS: usize = 8;

/// Bytes behind an address.
#[derive(Clone, Copy)]
struct Written {
    /// The address's number.
    base: Value,
    disp: i16,
    size: Size,
}

impl Written {
    /// Whether both are surely different bytes.
    fn is_beside(&self, other: &Written) -> bool {
        let end = |bytes: &Written| i32::from(bytes.disp) + bytes.size as i32;
        self.base == other.base && (end(self) <= other.disp.into() || end(other) <= self.disp.into())
    }
}

/// An operation with the numbers of its operands.
type Key = [u64; 3];

struct Numbering<'a> {
    maps: &'a [Map],
    context: Option<Value>,
    /// Something writes the context, or moves the packet and so changes its pointers.
    context_changes: bool,
    table: FxHashMap<Key, Value>,
    /// What each change of the table replaced.
    log: Vec<(Key, Option<Value>)>,
    /// Constants and addresses: the value whose number they share, the last one, and where that is.
    cheap: FxHashMap<Key, (Value, Value, u32)>,
    numbers: Vec<Value>,
    regions: Vec<Region>,
    /// For each region which state of its bytes this is; every state has its own number.
    versions: [u32; REGIONS],
    versions_after: Vec<[u32; REGIONS]>,
    next_version: u32,
    /// The versions that a store made: its region, the version before, and where it wrote.
    stores: FxHashMap<u32, (Region, u32, Written)>,
    /// Counts blocks and calls.
    stretch: u32,
    replacements: Replacements,
}

impl<'a> Numbering<'a> {
    fn new(function: &Function, maps: &'a [Map]) -> Self {
        let context = function.context();
        let mut numbering = Numbering {
            maps,
            context,
            context_changes: moves_packet(function) || writes_to(function, context),
            table: FxHashMap::default(),
            log: Vec::new(),
            cheap: FxHashMap::default(),
            numbers: (0..function.value_count).map(Value).collect(),
            regions: vec![Region::Unknown; function.value_count as usize],
            versions: [0; REGIONS],
            versions_after: vec![[0; REGIONS]; function.blocks.len()],
            next_version: 1,
            stores: FxHashMap::default(),
            stretch: 0,
            replacements: Replacements::new(function),
        };
        if let Some(context) = numbering.context {
            numbering.regions[context.index()] = Region::Context;
        }
        numbering
    }

    fn forget(&mut self, length: usize) {
        for (key, before) in self.log.drain(length..).rev() {
            match before {
                Some(value) => self.table.insert(key, value),
                None => self.table.remove(&key),
            };
        }
    }

    fn block(&mut self, function: &mut Function, block: Block, single_predecessor: Option<Block>) {
        self.stretch += 1;
        match single_predecessor {
            Some(before) => self.versions = self.versions_after[before.index()],
            None => self.change_all(self.context_changes),
        }
        for inst in &mut function.block_mut(block).insts {
            inst.op.map_values(|value| self.replacements.get(value));
            if let Some(result) = inst.result {
                self.regions[result.index()] = self.region(&inst.op);
                self.number(&inst.op, result);
            }
            self.note_effects(&inst.op);
        }
        self.versions_after[block.index()] = self.versions;
    }

    /// Replaces the result if it is known, else makes it known.
    fn number(&mut self, op: &Op, result: Value) {
        if let Op::Const(_)
        | Op::DataAddress { .. }
        | Op::MapReference(_)
        | Op::SlotAddress(_)
        | Op::FunctionReference(_) = op
        {
            return self.number_cheap(op, result);
        }
        let Some(key) = self.key(op) else { return };
        if let Some(known) = self.find(op, key) {
            self.replacements.set(result, known);
            self.numbers[result.index()] = self.numbers[known.index()];
        } else {
            self.log.push((key, self.table.insert(key, result)));
        }
    }

    /// The value that is known for a key. For a load also what was there before stores to other bytes behind the same address.
    fn find(&self, op: &Op, mut key: Key) -> Option<Value> {
        loop {
            if let Some(known) = self.table.get(&key) {
                return Some(*known);
            }
            let Op::Load { size, base, disp, .. } = *op else { return None };
            let read = Written { base: self.numbers[base.index()], disp, size };
            let region = self.regions[base.index()];
            let (of, before, written) = self.stores.get(&(key[2] as u32))?;
            if *of != region || !written.is_beside(&read) {
                return None;
            }
            key[2] = u64::from(*before);
        }
    }

    fn number_cheap(&mut self, op: &Op, result: Value) {
        let key = match *op {
            Op::Const(value) => [1, value as u64, 0],
            Op::DataAddress { map, offset } => [2, map.0 as u64, offset as u64],
            Op::MapReference(map) => [3, map.0 as u64, 0],
            Op::SlotAddress(slot) => [4, slot.0 as u64, 0],
            Op::FunctionReference(function) => [9, function.0 as u64, 0],
            _ => return,
        };
        let stretch = self.stretch;
        let entry = self.cheap.entry(key).or_insert((result, result, stretch));
        self.numbers[result.index()] = entry.0;
        if entry.2 != stretch {
            (entry.1, entry.2) = (result, stretch);
        } else if entry.1 != result {
            self.replacements.set(result, entry.1);
        }
    }

    fn key(&self, op: &Op) -> Option<Key> {
        let number = |value: Value| self.numbers[value.index()].0 as u64;
        let operand = |operand| match operand {
            Operand::Value(value) => number(value),
            Operand::Imm(imm) => 1 << 32 | imm as u32 as u64,
        };
        Some(match *op {
            Op::Binary(op, lhs, rhs) => {
                let (mut a, mut b) = (number(lhs), operand(rhs));
                // Not `Add`: of a sum with a pointer the pointer is on the left.
                if matches!(op, BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) && a > b {
                    (a, b) = (b, a);
                }
                [5 | (op as u64) << 8, a, b]
            }
            // Each copy is there to be apart from the others.
            Op::Unary(UnaryOp::Unlink, _) => return None,
            Op::Unary(op, value) => [6 | (op as u64) << 8, number(value), 0],
            Op::Compare(Condition { op, lhs, rhs }) => [7 | (op as u64) << 8, number(lhs), operand(rhs)],
            Op::Load { size, signed, base, disp } => {
                let region = self.regions[base.index()];
                if region == Region::Data {
                    return None;
                }
                let kind = 8 | (size as u64) << 8 | (signed as u64) << 16 | (disp as u16 as u64) << 32;
                [kind, number(base), self.versions[region as usize] as u64]
            }
            _ => return None,
        })
    }

    fn region(&self, op: &Op) -> Region {
        match *op {
            Op::SlotAddress(_) => Region::Stack,
            Op::DataAddress { map, .. } => match self.maps.get(map.0 as usize).map(|map| &map.kind) {
                Some(MapKind::ReadOnlyData(_)) => Region::ReadOnlyData,
                _ => Region::Data,
            },
            Op::Load { size: Size::B4, base, .. } if Some(base) == self.context => Region::Packet,
            Op::Helper { .. } => Region::MapValue,
            Op::Unary(UnaryOp::Arena, _) => Region::Arena,
            Op::Binary(BinaryOp::Add, base, _) => self.regions[base.index()],
            _ => Region::Unknown,
        }
    }

    fn note_effects(&mut self, op: &Op) {
        match op {
            Op::Store { base, disp, size, .. } | Op::Atomic { base, disp, size, .. } => {
                let region = self.regions[base.index()];
                let written = Written { base: self.numbers[base.index()], disp: *disp, size: *size };
                let before = self.versions[region as usize];
                self.stores.insert(self.next_version, (region, before, written));
                match region {
                    Region::Unknown => self.change_all(false),
                    region => self.change(&[region, Region::Unknown]),
                }
            }
            Op::Helper { .. } | Op::Call { .. } => {
                self.stretch += 1;
                match effect(op) {
                    Effect::Nothing => {}
                    Effect::Maps => self.change(&[Region::MapValue, Region::Data, Region::Unknown]),
                    Effect::Everything => self.change_all(true),
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, regions: &[Region]) {
        for region in regions {
            self.versions[*region as usize] = self.next_version;
        }
        self.next_version += 1;
    }

    /// Everything but read-only data, and the context only if asked for.
    fn change_all(&mut self, context: bool) {
        use Region::*;
        self.change(&[Packet, Stack, Data, MapValue, Arena, Unknown]);
        if context {
            self.change(&[Context]);
        }
    }
}
