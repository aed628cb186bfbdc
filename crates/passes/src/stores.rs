//! Removes stores to stack slots that write what the slot holds already: the key of a table's entry is written for the
//! lookup, and again where the entry is made because it was not there.
//!
//! Follows, forward over the control-flow graph, what surely stands in each slot. Slots are looked at only if their address
//! goes nowhere but into loads, stores and helpers that read what they are given.

use crate::Around;
use crate::helpers::reads_only;
use crate::values::{Definition, definitions};
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    if function.slots.is_empty() {
        return false;
    }
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let places = Places::find(function);
    let mut after: Vec<Option<Contents>> = vec![None; function.blocks.len()];
    let mut settled = false;
    while !settled {
        settled = true;
        for &block in &flow.order {
            let mut contents = at_entry(&flow, block, &after);
            places.follow(function.block(block), &mut contents, |_| {});
            if after[block.index()].as_ref() != Some(&contents) {
                after[block.index()] = Some(contents);
                settled = false;
            }
        }
    }
    let mut changed = false;
    for &block in &flow.order {
        let mut contents = at_entry(&flow, block, &after);
        let mut again = Vec::new();
        places.follow(function.block(block), &mut contents, |index| again.push(index));
        if again.is_empty() {
            continue;
        }
        changed = true;
        let mut index = 0..;
        function.block_mut(block).insts.retain(|_| index.next().is_none_or(|index| !again.contains(&index)));
    }
    changed
}

/// Bytes of a slot.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    slot: Slot,
    offset: i32,
    size: Size,
}

impl Place {
    fn overlaps(&self, other: &Place) -> bool {
        let end = |place: &Place| place.offset + place.size as i32;
        self.slot == other.slot && self.offset < end(other) && other.offset < end(self)
    }
}

/// What was stored, of which as many bytes count as the place has.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Value(Value),
    Const(i64),
}

type Contents = Vec<(Place, Known)>;

/// What all paths to a block agree on. Paths that have not been followed yet agree with all.
fn at_entry(flow: &ControlFlow, block: Block, after: &[Option<Contents>]) -> Contents {
    if block == Block(0) {
        return Vec::new();
    }
    let mut known = flow.predecessors(block).iter().filter_map(|before| after[before.index()].as_ref());
    let Some(mut contents) = known.next().cloned() else { return Vec::new() };
    for other in known {
        contents.retain(|stored| other.contains(stored));
    }
    contents
}

struct Places {
    /// By value: the slot whose address it is, and bytes from the slot's start.
    addresses: Vec<Option<(Slot, i32)>>,
    definitions: Vec<Definition>,
    /// By value: it is stored to a slot.
    stored: Vec<bool>,
}

impl Places {
    fn find(function: &Function) -> Self {
        let definitions = definitions(function);
        let mut addresses: Vec<Option<(Slot, i32)>> = vec![None; function.value_count as usize];
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            if let (Op::SlotAddress(slot), Some(result)) = (&inst.op, inst.result) {
                addresses[result.index()] = Some((*slot, 0));
            }
        }
        let stored = vec![false; addresses.len()];
        let mut places = Places { addresses, definitions, stored };
        // Sums of sums come after what they are made of in the list of values, or are not looked at.
        for value in 0..places.addresses.len() {
            if let Definition::Binary(BinaryOp::Add, base, Operand::Imm(imm)) = places.definitions[value]
                && let Some((slot, offset)) = places.addresses[base.index()]
            {
                places.addresses[value] = offset.checked_add(imm).map(|offset| (slot, offset));
            }
        }
        let mut escaped = vec![false; function.slots.len()];
        places.find_escapes(function, &mut escaped);
        for address in &mut places.addresses {
            *address = address.filter(|(slot, _)| !escaped[slot.index()]);
        }
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            if let Op::Store { base, value: Operand::Value(value), .. } = inst.op
                && places.addresses[base.index()].is_some()
            {
                places.stored[value.index()] = true;
            }
        }
        places
    }

    fn find_escapes(&self, function: &Function, escaped: &mut [bool]) {
        let mut escape = |value: Value| {
            if let Some((slot, _)) = self.addresses[value.index()] {
                escaped[slot.index()] = true;
            }
        };
        for block in &function.blocks {
            for inst in &block.insts {
                match &inst.op {
                    Op::Store { value, .. } => value.value().into_iter().for_each(&mut escape),
                    Op::Atomic { value, .. } => escape(*value),
                    Op::Load { .. } => {}
                    op if reads_only(op) => {}
                    Op::Binary(..)
                        if inst.result.is_some_and(|sum| self.addresses[sum.index()].is_some()) => {}
                    op => op.for_each_value(&mut escape),
                }
            }
            if let Some((terminator, _)) = &block.terminator {
                terminator.for_each_value(&mut escape);
            }
        }
    }

    /// Goes through a block; calls `again` with the index of each store of what is there.
    fn follow(&self, block: &BlockData, contents: &mut Contents, mut again: impl FnMut(usize)) {
        let defined = |value: Value, contents: &mut Contents| {
            if self.stored[value.index()] {
                contents.retain(|(_, known)| *known != Known::Value(value));
            }
        };
        block.params.iter().for_each(|param| defined(*param, contents));
        for (index, inst) in block.insts.iter().enumerate() {
            if let Some(result) = inst.result {
                // In a loop it is another than the one that was stored.
                defined(result, contents);
            }
            let (base, disp, size, known) = match inst.op {
                Op::Store { base, disp, size, value } => (base, disp, size, Some(self.known(value))),
                Op::Atomic { base, disp, size, .. } => (base, disp, size, None),
                _ => continue,
            };
            let Some((slot, offset)) = self.addresses[base.index()] else { continue };
            let written = Place { slot, offset: offset + i32::from(disp), size };
            match known.map(|known| (written, known)) {
                Some(stored) if contents.contains(&stored) => again(index),
                stored => {
                    contents.retain(|(place, _)| !place.overlaps(&written));
                    contents.extend(stored);
                }
            }
        }
    }

    fn known(&self, operand: Operand) -> Known {
        match operand {
            Operand::Imm(imm) => Known::Const(imm.into()),
            Operand::Value(value) => match self.definitions[value.index()] {
                Definition::Const(constant) => Known::Const(constant),
                _ => Known::Value(value),
            },
        }
    }
}
