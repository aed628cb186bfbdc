//! Where instructions are that questions about variables lead to. Made once, so that a question costs what there is to be found.

use super::Use;
use crate::general::reach::{Functions, Reach};
use crate::opcode::{Instruction, Opcode};
use moonhook_snapshot::{CellId, ClosureId, Value};
use std::collections::{BTreeSet, HashMap};

/// A function and an instruction of it.
type Place = (usize, usize);

#[derive(Default)]
pub struct Index<'a> {
    /// The reachable functions of the script, in the order of their numbers.
    pub visible: Vec<usize>,
    /// The calls in them.
    pub calls: Vec<Place>,
    /// Where a function is made, by its number.
    pub makers: HashMap<usize, Vec<Place>>,
    /// Where global variables are assigned, and which.
    pub globals: Vec<(&'a Value, Place)>,
    /// Where variables from outside of functions are assigned: the number of the upvalue, and the register that it is given.
    pub upvalues: Vec<(usize, Use)>,
    /// The closures of load time, by function.
    closures: HashMap<usize, Vec<ClosureId>>,
    /// Those of them that assign a variable of load time, by the variable.
    assigned: HashMap<CellId, Vec<Use>>,
}

impl<'a> Index<'a> {
    pub fn new(functions: &Functions<'a>, reach: &Reach) -> Index<'a> {
        let visible = reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index)).collect();
        let mut index = Index { visible, ..Index::default() };
        for closure in &reach.closures {
            let function = functions.snapshot.closure(*closure).prototype.index();
            index.closures.entry(function).or_default().push(*closure);
        }
        for function in index.visible.clone() {
            index.add_code(functions, function);
        }
        for (upvalue, at) in index.upvalues.clone() {
            for cell in index.cells(functions, reach, at.0, upvalue) {
                index.assigned.entry(cell).or_default().push(at);
            }
        }
        index
    }

    fn add_code(&mut self, functions: &Functions<'a>, function: usize) {
        let prototype = functions.get(function);
        for (pc, word) in prototype.code.iter().enumerate() {
            let (i, place) = (Instruction(*word), (function, pc));
            match i.opcode() {
                Some(Opcode::Call | Opcode::TailCall) => self.calls.push(place),
                Some(Opcode::Closure) => {
                    self.makers.entry(functions.inner(function, i.bx())).or_default().push(place);
                }
                Some(Opcode::SetTabUp) => {
                    self.globals.extend(prototype.constants.get(i.b()).map(|name| (name, place)));
                }
                Some(Opcode::SetUpval) => self.upvalues.push((i.b(), (function, pc, i.a()))),
                _ => {}
            }
        }
    }

    /// The variables of load time behind an upvalue.
    pub fn cells(
        &self,
        functions: &Functions<'_>,
        reach: &Reach,
        function: usize,
        upvalue: usize,
    ) -> BTreeSet<CellId> {
        let made = self.closures.get(&function).into_iter().flatten();
        let known = reach.upvalues.get(&function).and_then(|cells| cells.get(upvalue)).copied().flatten();
        let cell = |closure: &ClosureId| functions.snapshot.closure(*closure).upvalues.get(upvalue).copied();
        made.filter_map(cell).chain(known).collect()
    }

    /// Where functions assign variables of load time.
    pub fn assignments(&self, cells: &BTreeSet<CellId>) -> BTreeSet<Use> {
        cells.iter().filter_map(|cell| self.assigned.get(cell)).flatten().copied().collect()
    }
}
