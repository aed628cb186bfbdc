//! Numbers of cells: what captured variables, tables made at packet time and the states of iterators are called in the state.
//!
//! A number depends only on the path of calls, the turns of unrolled loops and the place in the code, so that executing a loop again
//! finds the same. A captured variable's depends on where it is declared, not on who captures it: on different paths to one place
//! different functions can be the first to do so, and mean the same variable.

use crate::context::Context;
use crate::numbering::Numbering;
use crate::paths::Arm;
use crate::state::Slot;
use crate::value::{Abs, Str, Union, Variant, Word};
use std::collections::BTreeSet;
use std::rc::Rc;

/// What stands there for the state of an iterator, by number from the last on.
pub const ITERATOR: usize = usize::MAX - 1;

impl Context<'_> {
    /// The number of what the current instruction makes at that place of its own.
    pub fn cell_number(&mut self, place: usize) -> u32 {
        let site = self.execution.cell_site(place);
        self.numbering.cell(site)
    }

    /// The number of the variable in a register that the current instruction captures.
    pub fn variable_number(&mut self, register: usize) -> u32 {
        let site = self.execution.variable_site(register);
        self.numbering.cell(site)
    }
}

impl Numbering {
    /// Makes the arms agree on which registers are captured and which cells there are. `false`: a register is another variable on
    /// each path, which no bytecode of Lua's own compiler brings about.
    pub fn align_cells(&self, arms: &mut [Arm]) -> bool {
        let registers = arms.iter().map(|arm| arm.state.registers.len()).max().unwrap_or(0);
        for arm in arms.iter_mut() {
            if arm.state.registers.len() < registers {
                arm.state.registers.resize(registers, Slot::Dead);
            }
        }
        for register in 0..registers {
            let captured = |arm: &Arm| match arm.state.registers[register] {
                Slot::Cell(cell) => Some(cell),
                _ => None,
            };
            let Some(cell) = arms.iter().find_map(captured) else { continue };
            if arms.iter().filter_map(captured).any(|other| other != cell) {
                return false;
            }
            for arm in arms.iter_mut() {
                match arm.state.registers[register].clone() {
                    Slot::Direct(value) => {
                        arm.state.cells.insert(cell, value);
                    }
                    // Nothing reads what it holds on this path, but what is assigned later on is seen by functions of the others.
                    Slot::Dead => {}
                    Slot::Cell(_) => continue,
                }
                arm.state.registers[register] = Slot::Cell(cell);
            }
        }
        let Some((first, others)) = arms.split_first() else { return true };
        let mine = &first.state.cells;
        if others.iter().all(|arm| arm.state.cells.is(mine) || arm.state.cells.keys().eq(mine.keys())) {
            return true;
        }
        let of_any = arms.iter().flat_map(|arm| arm.state.cells.keys().copied());
        let cells: BTreeSet<u32> = of_any.collect();
        for cell in cells {
            if arms.iter().all(|arm| arm.state.cells.contains_key(&cell)) {
                continue;
            }
            let known = arms.iter().find_map(|arm| arm.state.cells.get(&cell)).cloned();
            // A field that is not there is nil. A variable that is not there cannot be reached: anything will do.
            let anything = match known.filter(|_| !self.is_field(cell)) {
                Some(known) => placeholder(&known),
                None => Abs::Nil,
            };
            for arm in arms.iter_mut() {
                arm.state.cells.entry(cell).or_insert_with(|| anything.clone());
            }
        }
        true
    }
}

/// A value of the same variant that can be made on any path.
fn placeholder(known: &Abs) -> Abs {
    let none = Word::Imm(0);
    match known {
        Abs::Nil | Abs::Object(_) | Abs::Str(Str::Const(_)) => known.clone(),
        Abs::Bool(_) => Abs::FALSE,
        Abs::Int(_) => Abs::Int(none),
        Abs::Float(_) => Abs::Float(none),
        Abs::Str(Str::Slice { space, .. }) => {
            Abs::Str(Str::Slice { space: *space, start: none, length: none })
        }
        Abs::Str(Str::Cased { case, space, .. }) => {
            Abs::Str(Str::Cased { case: *case, space: *space, start: none, length: none })
        }
        Abs::Str(Str::Ipv4(_)) => Abs::Str(Str::Ipv4(none)),
        Abs::Str(Str::Ipv6(..)) => Abs::Str(Str::Ipv6(none, none)),
        Abs::Str(Str::Mac(_)) => Abs::Str(Str::Mac(none)),
        // There is no address but that of an entry.
        Abs::Entry { .. } => Abs::Nil,
        Abs::Structure { type_id, .. } => Abs::Structure { type_id: *type_id, address: none },
        Abs::Union(union) if union.variants.iter().any(|variant| matches!(variant, Variant::Entry(_))) => {
            Abs::Nil
        }
        Abs::Union(union) => {
            let tag = union.variants.first().map_or(0, |variant| variant.tag());
            Abs::Union(Rc::new(Union { tag: Word::Imm(tag), payload: [none; 2], ..(**union).clone() }))
        }
    }
}
