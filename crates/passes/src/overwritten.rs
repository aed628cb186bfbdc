//! Removes stores that are overwritten before anything can have read what they wrote: the first checksum of a header of which a script assigns two
//! fields.
//!
//! Looks at one block at a time, backwards. What may be read in between is whatever is loaded by another base value, since addresses of
//! different bases can be the same, and everything where a function is called.

use crate::Around;
use moonhook_ir::{BlockData, Function, Op, Value};
use std::collections::HashSet;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let context = function.context();
    let mut changed = false;
    for block in &mut function.blocks {
        let dead = overwritten(block, context);
        changed |= !dead.is_empty();
        let mut index = 0..;
        block.insts.retain(|_| index.next().is_none_or(|index| !dead.contains(&index)));
    }
    changed
}

/// Bytes behind a base.
#[derive(Clone, Copy)]
struct Place {
    base: Value,
    start: i32,
    end: i32,
}

impl Place {
    fn covers(&self, other: &Place) -> bool {
        self.base == other.base && self.start <= other.start && other.end <= self.end
    }

    fn may_touch(&self, other: &Place) -> bool {
        self.base != other.base || self.start < other.end && other.start < self.end
    }
}

/// The stores of a block that nobody sees.
fn overwritten(block: &BlockData, context: Option<Value>) -> HashSet<usize> {
    let mut dead = HashSet::new();
    // What is written later on and read by nobody before that.
    let mut later: Vec<Place> = Vec::new();
    for (index, inst) in block.insts.iter().enumerate().rev() {
        match inst.op {
            Op::Store { base, disp, size, .. } => {
                let place = Place { base, start: disp.into(), end: i32::from(disp) + size as i32 };
                if later.iter().any(|known| known.covers(&place)) {
                    dead.insert(index);
                } else {
                    later.push(place);
                }
            }
            // The context is memory of its own.
            Op::Load { base, .. } if Some(base) == context => {}
            Op::Load { base, disp, size, .. } => {
                let read = Place { base, start: disp.into(), end: i32::from(disp) + size as i32 };
                later.retain(|known| !known.may_touch(&read));
            }
            _ if inst.op.is_pure() => {}
            _ => later.clear(),
        }
        // What is not defined yet is another value in the turn before.
        if let Some(result) = inst.result {
            later.retain(|place| place.base != result);
        }
    }
    dead
}
