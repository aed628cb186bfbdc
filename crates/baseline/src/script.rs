//! The functions of a script and of the library, by number, and what is sure of their registers.

use moonhook_runtime::Prelude;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Snapshot, Value};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// A variable: its register, and the instructions during which it lives.
type Variable = (usize, Range<usize>);

/// All functions that could be compiled: those of the script, then those of the library that are written in Lua.
pub struct Functions<'a> {
    pub snapshot: &'a Snapshot,
    pub library: &'a Prelude,
    /// The script has metatables with `__newindex`: an assignment to one table may go to another.
    redirects: bool,
    /// See [`Functions::assigned_upvalues`].
    assigned: RefCell<HashMap<usize, Rc<HashSet<usize>>>>,
    /// See [`Functions::assigned_inside`].
    assigned_inside: RefCell<HashMap<usize, Rc<[Variable]>>>,
}

impl<'a> Functions<'a> {
    pub fn new(snapshot: &'a Snapshot, library: &'a Prelude) -> Functions<'a> {
        let is_event = |value: &Value| matches!(value, Value::String(name) if **name == *b"__newindex");
        let mut constants = snapshot.prototypes.iter().flat_map(|prototype| &prototype.constants);
        let mut keys = snapshot.tables.iter().flat_map(|table| table.entries.iter().map(|(key, _)| key));
        let redirects = constants.any(is_event) || keys.any(is_event);
        let (assigned, assigned_inside) = (RefCell::default(), RefCell::default());
        Functions { snapshot, library, redirects, assigned, assigned_inside }
    }

    pub fn get(&self, index: usize) -> &'a Prototype {
        match index.checked_sub(self.snapshot.prototypes.len()) {
            None => &self.snapshot.prototypes[index],
            Some(index) => &self.library.prototypes[index],
        }
    }

    /// Whether some function raises to a power.
    pub fn have_powers(&self) -> bool {
        let mut all = self.snapshot.prototypes.iter().chain(&self.library.prototypes);
        let is_power = |word: &u32| matches!(Instruction(*word).opcode(), Some(Opcode::Pow | Opcode::PowK));
        all.any(|prototype| prototype.code.iter().any(is_power))
    }

    /// Whether the function is a part of the library.
    pub fn is_hidden(&self, index: usize) -> bool {
        index >= self.snapshot.prototypes.len()
    }

    /// The function number of the `n`-th function inside another.
    pub fn inner(&self, outer: usize, n: usize) -> usize {
        let base = if self.is_hidden(outer) { self.snapshot.prototypes.len() } else { 0 };
        base + self.get(outer).prototypes[n].index()
    }

    /// The canonical name of a library function that is written in Lua; `None` for others, and for functions inside of it.
    pub fn library_name(&self, index: usize) -> Option<&'a str> {
        let index = index.checked_sub(self.snapshot.prototypes.len())?;
        let mut functions = self.library.functions.iter();
        functions.find(|(_, function)| **function == index).map(|(name, _)| name.as_str())
    }

    /// The function number of a library function that is written in Lua.
    pub fn of_library(&self, name: &str) -> Option<usize> {
        self.library.functions.get(name).map(|index| self.snapshot.prototypes.len() + index)
    }

    /// The instruction that surely set what a register holds before another one.
    pub fn only_setter(&self, function: usize, pc: usize, register: usize) -> Option<usize> {
        let setter = self.get(function).only_setter(pc, register)?;
        (!self.may_change_inside(function, register, setter..pc)).then_some(setter)
    }

    /// Whether a register surely holds a table that the function has made, and that is what assignments to it change.
    pub fn is_new(&self, function: usize, pc: usize, register: usize) -> bool {
        let setter = self.only_setter(function, pc, register).filter(|_| !self.redirects);
        setter.is_some_and(|at| Instruction(self.get(function).code[at]).opcode() == Some(Opcode::NewTable))
    }

    /// Whether assignments to a table may change something else: there may be a `__newindex`.
    pub fn redirects(&self) -> bool {
        self.redirects
    }

    /// Whether a function inside may assign a register of this one between two instructions: as long as the register is a variable
    /// that it has.
    pub fn may_change_inside(&self, function: usize, register: usize, between: Range<usize>) -> bool {
        self.assigned_inside(function)
            .iter()
            .any(|(at, life)| *at == register && between.start < life.end && life.start <= between.end)
    }

    /// The variables of a function that functions inside assign.
    pub fn assigned_inside(&self, function: usize) -> Rc<[Variable]> {
        if let Some(known) = self.assigned_inside.borrow().get(&function) {
            return known.clone();
        }
        let prototype = self.get(function);
        let mut found = Vec::new();
        for (pc, word) in prototype.code.iter().enumerate() {
            let i = Instruction(*word);
            if i.opcode() != Some(Opcode::Closure) {
                continue;
            }
            let inner = self.inner(function, i.bx());
            let assigned = self.assigned_upvalues(inner);
            let captured = self.get(inner).upvalues.iter().enumerate();
            let captured =
                captured.filter(|(number, captured)| captured.in_stack && assigned.contains(number));
            found.extend(captured.map(|(_, captured)| {
                let register = usize::from(captured.index);
                (register, prototype.life(pc, register))
            }));
        }
        let found: Rc<[Variable]> = found.into();
        self.assigned_inside.borrow_mut().insert(function, found.clone());
        found
    }

    /// The upvalues that a function assigns, or a function inside it.
    fn assigned_upvalues(&self, function: usize) -> Rc<HashSet<usize>> {
        if let Some(known) = self.assigned.borrow().get(&function) {
            return known.clone();
        }
        let prototype = self.get(function);
        let code = prototype.code.iter().map(|word| Instruction(*word));
        let mut found: HashSet<usize> =
            code.filter(|i| i.opcode() == Some(Opcode::SetUpval)).map(|i| i.b()).collect();
        for n in 0..prototype.prototypes.len() {
            let inner = self.inner(function, n);
            let assigned = self.assigned_upvalues(inner);
            let passed = self.get(inner).upvalues.iter().enumerate();
            let passed = passed.filter(|(number, captured)| !captured.in_stack && assigned.contains(number));
            found.extend(passed.map(|(_, captured)| usize::from(captured.index)));
        }
        let found = Rc::new(found);
        self.assigned.borrow_mut().insert(function, found.clone());
        found
    }
}
