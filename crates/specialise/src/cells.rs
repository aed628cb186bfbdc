//! Numbers of cells: what captured variables, tables made at packet time and the states of iterators are called in the state.
//!
//! A number depends only on the way of calls, the turns of unrolled loops and the place in the code, so that walking a loop again
//! finds the same. A captured variable's depends on where it is declared, not on who captures it: on different ways to one place
//! different functions can be the first to do so, and mean the same variable.

use crate::context::Context;
use crate::sites::Turn;
use crate::state::Slot;
use crate::value::{Abs, Str, Union, Variant, Word};
use crate::ways::Arm;
use moonhook_snapshot::{LocalVariable, Prototype};
use std::collections::BTreeSet;
use std::rc::Rc;

/// What stands there for the state of an iterator, by number from the last on.
pub const ITERATOR: usize = usize::MAX - 1;

impl Context<'_> {
    /// The number of what the current instruction makes at that place of its own.
    pub fn cell_number(&mut self, place: usize) -> u32 {
        let site = self.cell_site(place);
        self.numbered(site)
    }

    pub fn cell_site(&self, place: usize) -> Vec<usize> {
        let pc = self.calls.last().map_or(0, |call| call.pc);
        self.site_of(pc, place, |_| true)
    }

    /// The number of the variable in a register that the current instruction captures.
    pub fn variable_number(&mut self, register: usize) -> u32 {
        let (calls, pc) = (self.calls.len(), self.calls.last().map_or(0, |call| call.pc));
        let prototype = self.calls.last().map(|call| self.snapshot.prototype(call.prototype));
        let declared = prototype.and_then(|prototype| declaration(prototype, register, pc)).unwrap_or(pc);
        let around = |turn: &Turn| turn.calls < calls || turn.code.contains(&declared);
        let site = self.site_of(declared, register, around);
        self.numbered(site)
    }

    /// A place in the active function, in those turns of unrolled loops.
    fn site_of(&self, pc: usize, place: usize, turns: impl Fn(&Turn) -> bool) -> Vec<usize> {
        let mut site = vec![self.handler, self.calls.len()];
        let callers = self.calls.split_last().map_or(&[][..], |(_, callers)| callers);
        site.extend(callers.iter().flat_map(|call| [call.prototype.index(), call.pc]));
        site.extend(self.calls.last().map(|call| call.prototype.index()));
        site.extend([pc, place]);
        site.extend(self.turns.iter().filter(|turn| turns(turn)).map(|turn| turn.number));
        site
    }

    fn numbered(&mut self, site: Vec<usize>) -> u32 {
        let next = self.next_cell();
        *self.cell_numbers.entry(site).or_insert(next)
    }

    pub fn next_cell(&self) -> u32 {
        (self.cell_numbers.len() + self.field_cells.len()) as u32
    }

    /// Makes the arms agree on which registers are captured and which cells there are. `false`: a register is another variable on
    /// each way, which no bytecode of Lua's own compiler brings about.
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
                    // Nothing reads what it holds on this way, but what is assigned later on is seen by functions of the others.
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
            let anything = match known.filter(|_| !self.fields.contains(&cell)) {
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

/// The first instruction of the scope of the variable in `register` at `pc`, by the debug information. The scope of a function's own
/// name begins behind the instruction that makes the function.
fn declaration(prototype: &Prototype, register: usize, pc: usize) -> Option<usize> {
    let at = |pc: usize| {
        let active = |v: &&LocalVariable| (v.start_pc as usize) <= pc && pc < v.end_pc as usize;
        prototype.locals.iter().filter(active).nth(register).map(|variable| variable.start_pc as usize)
    };
    at(pc).or_else(|| at(pc + 1))
}

/// A value of the same variant that can be made on any way.
fn placeholder(known: &Abs) -> Abs {
    let none = Word::Imm(0);
    match known {
        Abs::Nil | Abs::Float(_) | Abs::Object(_) | Abs::Str(Str::Const(_)) => known.clone(),
        Abs::Bool(_) => Abs::FALSE,
        Abs::Int(_) => Abs::Int(none),
        Abs::Str(Str::Slice { space, .. }) => {
            Abs::Str(Str::Slice { space: *space, start: none, length: none })
        }
        Abs::Str(Str::Ipv4(_)) => Abs::Str(Str::Ipv4(none)),
        Abs::Str(Str::Ipv6(..)) => Abs::Str(Str::Ipv6(none, none)),
        Abs::Str(Str::Mac(_)) => Abs::Str(Str::Mac(none)),
        // There is no address but that of an entry.
        Abs::Entry { .. } => Abs::Nil,
        Abs::Union(union) if union.variants.iter().any(|variant| matches!(variant, Variant::Entry(_))) => {
            Abs::Nil
        }
        Abs::Union(union) => {
            let tag = union.variants.first().map_or(0, |variant| variant.tag());
            Abs::Union(Rc::new(Union { tag: Word::Imm(tag), payload: [none; 2], ..(**union).clone() }))
        }
    }
}
