//! Which packet, copy of a packet, or bytes of one a register holds for sure.
//!
//! Followed from the handler's parameter through local variables, methods, and functions of the script in variables that nothing assigns at packet time. A function's
//! parameters are known where all calls of it are: it is used for nothing but being called, and in no table. Whatever else there is, is not known.

use super::reach::{Reach, Reached};
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{CellId, Prototype, Snapshot, UpvalueDescription, Value};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// The `skb` that the handler got.
    Packet,
    Copy,
    /// What shows bytes of the packet.
    Bytes,
    BytesOfCopy,
}

/// An instruction of a function, by the function's number.
type Site = (usize, usize);

/// How far a value is followed back, at most.
const DEPTH: usize = 100;

pub struct Objects<'s> {
    snapshot: &'s Snapshot,
    functions: &'s [Reached],
    /// Variables of load time that handlers assign.
    assigned: BTreeSet<CellId>,
    /// By function, all calls of it; `None` where there may be others.
    callers: Vec<Option<Vec<Site>>>,
    /// What registers before instructions hold. What is being found out is not known.
    found: RefCell<HashMap<(Site, usize), Option<Object>>>,
}

impl<'s> Objects<'s> {
    pub fn new(snapshot: &'s Snapshot, reach: &'s Reach) -> Objects<'s> {
        let functions = &reach.functions;
        let mut objects = Objects {
            snapshot,
            functions,
            assigned: assigned(snapshot, functions),
            callers: Vec::new(),
            found: RefCell::default(),
        };
        objects.callers = (0..functions.len()).map(|function| objects.all_callers(reach, function)).collect();
        objects
    }

    /// What the register holds before the instruction.
    pub fn at(&self, site: Site, register: usize) -> Option<Object> {
        self.follow(site, register, DEPTH)
    }

    /// Whether the register holds a variable of load time that is assigned at packet time.
    pub fn is_assigned(&self, (function, pc): Site, register: usize) -> bool {
        let prototype = self.prototype(function);
        let Some(setter) = prototype.only_setter(pc, register) else { return false };
        let i = Instruction(prototype.code[setter]);
        i.opcode() == Some(Opcode::GetUpval)
            && self.functions[function].cell(i.b()).is_some_and(|cell| self.assigned.contains(&cell))
    }

    /// The call of the method that an instruction has looked up (`OP_SELF`).
    pub fn call_of(&self, (function, lookup): Site) -> Option<usize> {
        let prototype = self.prototype(function);
        let register = Instruction(*prototype.code.get(lookup)?).a();
        let calls = |pc: &usize| {
            let i = Instruction(prototype.code[*pc]);
            is_call(i) && i.a() == register && prototype.only_setter(*pc, register) == Some(lookup)
        };
        (lookup + 1..prototype.code.len()).find(calls)
    }

    /// Whether the method that an instruction has looked up (`OP_SELF`) is called without an argument, or with one that surely does not name the link's layer.
    pub fn names_no_link(&self, (function, lookup): Site) -> bool {
        let Some(call) = self.call_of((function, lookup)) else { return false };
        let prototype = self.prototype(function);
        let i = Instruction(prototype.code[call]);
        let layer = i.a() + 2;
        match i.b() {
            0 | 1 => false,
            2 => true,
            _ => {
                let setter =
                    prototype.only_setter(call, layer).map(|setter| Instruction(prototype.code[setter]));
                let is_nil = setter.is_some_and(|i| i.opcode() == Some(Opcode::LoadNil));
                is_nil || self.layer((function, lookup)).is_some_and(|layer| layer != b"mac")
            }
        }
    }

    /// The text that the method which an instruction has looked up (`OP_SELF`) surely gets as its first argument.
    pub fn layer(&self, (function, lookup): Site) -> Option<&'s [u8]> {
        let call = self.call_of((function, lookup))?;
        let prototype = self.prototype(function);
        let i = Instruction(prototype.code[call]);
        let register = i.a() + 2;
        if matches!(i.b(), 0..=2) {
            return None;
        }
        let i = Instruction(prototype.code[prototype.only_setter(call, register)?]);
        let value = match i.opcode()? {
            Opcode::LoadK => prototype.constants.get(i.bx())?,
            Opcode::GetUpval if !self.is_assigned((function, call), register) => {
                self.functions[function].variable(self.snapshot, i.b())?
            }
            _ => return None,
        };
        match value {
            Value::String(name) => Some(name),
            _ => None,
        }
    }

    fn prototype(&self, function: usize) -> &'s Prototype {
        self.snapshot.prototype(self.functions[function].prototype)
    }

    fn follow(&self, site: Site, register: usize, depth: usize) -> Option<Object> {
        let depth = depth.checked_sub(1)?;
        let key = (site, register);
        if let Some(found) = self.found.borrow().get(&key) {
            return *found;
        }
        self.found.borrow_mut().insert(key, None);
        let object = self.held(site, register, depth);
        self.found.borrow_mut().insert(key, object);
        object
    }

    fn held(&self, (function, pc): Site, register: usize, depth: usize) -> Option<Object> {
        let prototype = self.prototype(function);
        if self.is_assigned_inside(prototype, &|upvalue| {
            upvalue.in_stack && usize::from(upvalue.index) == register
        }) {
            return None;
        }
        let Some(setter) = prototype.only_setter(pc, register) else {
            let is_parameter = register < usize::from(prototype.parameters);
            let is_changed = |word: &u32| Instruction(*word).changes().contains(&register);
            let stays = is_parameter && !prototype.code.iter().any(is_changed);
            return stays.then(|| self.parameter(function, register, depth)).flatten();
        };
        let i = Instruction(prototype.code[setter]);
        match i.opcode()? {
            Opcode::Move => self.follow((function, setter), i.b(), depth),
            Opcode::Self_ if register == i.a() + 1 => self.follow((function, setter), i.b(), depth),
            Opcode::Call if register == i.a() => self.result((function, setter), depth),
            _ => None,
        }
    }

    /// Whether a function that is made in another one may assign a variable of that: which one, its description says.
    fn is_assigned_inside(
        &self,
        prototype: &Prototype,
        is_meant: &dyn Fn(&UpvalueDescription) -> bool,
    ) -> bool {
        prototype.prototypes.iter().map(|inner| self.snapshot.prototype(*inner)).any(|inner| {
            let meant = inner.upvalues.iter().enumerate().filter(|(_, upvalue)| is_meant(upvalue));
            meant.map(|(number, _)| number).any(|number| {
                let assigns = |word: &u32| {
                    let i = Instruction(*word);
                    i.opcode() == Some(Opcode::SetUpval) && i.b() == number
                };
                inner.code.iter().any(assigns)
                    || self.is_assigned_inside(inner, &|upvalue| {
                        !upvalue.in_stack && usize::from(upvalue.index) == number
                    })
            })
        })
    }

    /// The first result of a call.
    fn result(&self, (function, pc): Site, depth: usize) -> Option<Object> {
        let prototype = self.prototype(function);
        let register = Instruction(prototype.code[pc]).a();
        let lookup = prototype.only_setter(pc, register)?;
        let i = Instruction(prototype.code[lookup]);
        if i.opcode() != Some(Opcode::Self_) {
            return self.returned(self.callee((function, pc))?, depth);
        }
        let is_method = i.a() == register && prototype.only_setter(pc, register + 1) == Some(lookup);
        let Value::String(name) = prototype.constants.get(i.c())? else { return None };
        match (self.follow((function, lookup), i.b(), depth).filter(|_| is_method)?, &**name) {
            (Object::Packet, b"data") => Some(Object::Bytes),
            (Object::Copy, b"data") => Some(Object::BytesOfCopy),
            (Object::Packet | Object::Copy, b"copy") => Some(Object::Copy),
            _ => None,
        }
    }

    /// The function that is surely called, by its number.
    fn callee(&self, (function, pc): Site) -> Option<usize> {
        let prototype = self.prototype(function);
        let setter = prototype.only_setter(pc, Instruction(prototype.code[pc]).a())?;
        self.variable((function, setter))
    }

    /// The function in a variable that an instruction reads which nothing assigns at packet time, by its number.
    fn variable(&self, (function, pc): Site) -> Option<usize> {
        let i = Instruction(self.prototype(function).code[pc]);
        if i.opcode()? != Opcode::GetUpval {
            return None;
        }
        let cell = self.functions[function].cell(i.b()).filter(|cell| !self.assigned.contains(cell))?;
        let value = &self.snapshot.cell(cell).value;
        self.functions.iter().position(|other| other.is(self.snapshot, value))
    }

    /// What a function gives first, whatever it returns.
    fn returned(&self, function: usize, depth: usize) -> Option<Object> {
        let mut all = Vec::new();
        let mut before = None;
        for (pc, word) in self.prototype(function).code.iter().enumerate() {
            let i = Instruction(*word);
            let opcode = i.opcode()?;
            // Behind a call that is the last one stands a return that nothing leads to.
            if before.replace(opcode) == Some(Opcode::TailCall) {
                continue;
            }
            all.push(match opcode {
                Opcode::TailCall => self.result((function, pc), depth),
                Opcode::Return1 => self.follow((function, pc), i.a(), depth),
                Opcode::Return if i.b() == 0 => None,
                Opcode::Return if i.b() >= 2 => self.follow((function, pc), i.a(), depth),
                _ => continue,
            });
        }
        common(&all)
    }

    /// What a parameter is, whoever calls the function. The first function is the handler.
    fn parameter(&self, function: usize, number: usize, depth: usize) -> Option<Object> {
        let mut all = Vec::new();
        if function == 0 {
            all.push((number == 0).then_some(Object::Packet));
        }
        for &(caller, pc) in self.callers[function].as_ref()? {
            let i = Instruction(self.prototype(caller).code[pc]);
            // What is not given is nil.
            if i.b() == 0 || number + 1 < i.b() {
                all.push(self.follow((caller, pc), i.a() + 1 + number, depth));
            }
        }
        common(&all)
    }

    /// All calls of a function; `None` where it is used for something else, or may be.
    fn all_callers(&self, reach: &Reach, function: usize) -> Option<Vec<Site>> {
        let own = &self.functions[function];
        let is_own = |value: &Value| own.is(self.snapshot, value);
        let in_table = reach
            .tables
            .iter()
            .map(|table| self.snapshot.table(*table))
            .any(|table| table.values().any(is_own) || table.entries.iter().any(|(key, _)| is_own(key)));
        let is_made =
            (0..self.functions.len()).any(|other| self.prototype(other).prototypes.contains(&own.prototype));
        if in_table || is_made {
            return None;
        }
        let mut sites = Vec::new();
        for (caller, code) in (0..self.functions.len()).map(|caller| (caller, &self.prototype(caller).code)) {
            for (pc, word) in code.iter().enumerate() {
                let i = Instruction(*word);
                let is_read = i.opcode() == Some(Opcode::GetUpval)
                    && self.functions[caller].variable(self.snapshot, i.b()).is_some_and(is_own);
                if is_read {
                    self.variable((caller, pc))?;
                    sites.push((caller, self.call_of((caller, pc))?));
                }
            }
        }
        Some(sites)
    }
}

fn is_call(i: Instruction) -> bool {
    matches!(i.opcode(), Some(Opcode::Call | Opcode::TailCall))
}

/// Variables of load time that these functions assign.
fn assigned(snapshot: &Snapshot, functions: &[Reached]) -> BTreeSet<CellId> {
    let of = |function: &Reached| {
        let code = &snapshot.prototype(function.prototype).code;
        let assigns = code.iter().map(|word| Instruction(*word));
        let assigns = assigns.filter(|i| i.opcode() == Some(Opcode::SetUpval));
        assigns.filter_map(|i| function.cell(i.b())).collect::<Vec<_>>()
    };
    functions.iter().flat_map(of).collect()
}

/// What all of them are, if they are the same.
fn common(all: &[Option<Object>]) -> Option<Object> {
    let first = *all.first()?;
    first.filter(|_| all.iter().all(|other| *other == first))
}
