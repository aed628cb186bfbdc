//! Where symbolic execution is: the active calls, the loops around the current instruction, and what their bytecode says by itself.

use crate::first_sums::First;
use crate::flow::{Flow, RegisterSet};
use crate::names;
use crate::opcode::{Instruction, Opcode};
use crate::paths::{Form, Variable};
use crate::sites::{ActiveCall, LoopKey, Site, Turn};
use crate::state::Slot;
use moonhook_ir as ir;
use moonhook_ir::words::CopyOnWrite;
use moonhook_snapshot::{LocalVariable, Prototype, PrototypeId, Snapshot};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The place of execution.
pub struct Execution<'a> {
    snapshot: &'a Snapshot,
    /// The number of the handler that is executed.
    pub handler: usize,
    pub calls: Vec<ActiveCall>,
    /// The registers of the calling functions, outermost first.
    pub callers: Vec<CopyOnWrite<Vec<Slot>>>,
    /// Loops being executed that are not unrolled, innermost last.
    pub active_loops: Vec<LoopKey>,
    /// The turns of the unrolled loops being executed.
    pub turns: Vec<Turn>,
    /// What varies in each loop, learned when it was executed before; the key is the call path and the header.
    pub loop_forms: HashMap<LoopKey, BTreeMap<Variable, Form>>,
    flows: HashMap<PrototypeId, Rc<Flow>>,
    first_sums: HashMap<PrototypeId, Rc<BTreeMap<usize, First>>>,
}

impl<'a> Execution<'a> {
    /// Nothing is executed yet.
    pub fn new(snapshot: &'a Snapshot) -> Execution<'a> {
        Execution {
            snapshot,
            handler: 0,
            calls: Vec::new(),
            callers: Vec::new(),
            active_loops: Vec::new(),
            turns: Vec::new(),
            loop_forms: HashMap::new(),
            flows: HashMap::new(),
            first_sums: HashMap::new(),
        }
    }

    // ---- the current instruction -----------------------------------------------------------------------------------

    /// The instruction being executed.
    pub fn site(&self) -> Option<Site> {
        self.calls.last().map(|call| (call.prototype, call.pc))
    }

    /// Whether the current instruction indexes by a name that stands in the code.
    pub fn has_constant_key(&self) -> bool {
        let Some((prototype, pc)) = self.site() else { return true };
        let word = self.snapshot.prototype(prototype).code.get(pc).copied().unwrap_or_default();
        Instruction(word).opcode() != Some(Opcode::GetTable)
    }

    /// What the current instruction's function calls `register`.
    pub fn register_name(&self, register: usize) -> Option<names::Name> {
        let call = self.calls.last()?;
        names::of_register(self.snapshot.prototype(call.prototype), call.pc, register)
    }

    /// What the current instruction makes at that place of its own.
    pub fn cell_site(&self, place: usize) -> Vec<usize> {
        let pc = self.calls.last().map_or(0, |call| call.pc);
        self.site_of(pc, place, |_| true)
    }

    /// The declaration of the variable in a register that the current instruction captures.
    pub fn variable_site(&self, register: usize) -> Vec<usize> {
        let (calls, pc) = (self.calls.len(), self.calls.last().map_or(0, |call| call.pc));
        let prototype = self.calls.last().map(|call| self.snapshot.prototype(call.prototype));
        let declared = prototype.and_then(|prototype| declaration(prototype, register, pc)).unwrap_or(pc);
        let around = |turn: &Turn| turn.calls < calls || turn.code.contains(&declared);
        self.site_of(declared, register, around)
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

    // ---- the active calls ------------------------------------------------------------------------------------------

    /// Where the active function of that level is: 1 is the running one, 2 the one that called it. A function that has made a
    /// tail call is not active any more. `None` for level 0, above the handler, and where the function has no lines.
    pub fn location_at(&self, level: usize) -> Option<ir::Loc> {
        let mut active = self.calls.iter().rev().filter(|call| !self.is_replaced(call));
        // The running function is the last call, which no tail call has replaced: it calls `error`.
        let running = self.calls.last()?;
        let call = match level {
            0 => return None,
            1 => running,
            level => active.by_ref().filter(|call| !std::ptr::eq(*call, running)).nth(level - 2)?,
        };
        let prototype = self.snapshot.prototype(call.prototype);
        let line = prototype.lines.get(call.pc).copied().filter(|line| *line > 0)?;
        Some(ir::Loc { source: prototype.source.map_or(0, |source| source.0 as u16), line })
    }

    /// The call has made a tail call, which is running.
    fn is_replaced(&self, call: &ActiveCall) -> bool {
        let code = self.snapshot.prototype(call.prototype).code.get(call.pc);
        code.and_then(|code| Instruction(*code).opcode()) == Some(Opcode::TailCall)
    }

    /// The active calls, innermost first: source, line and name.
    pub fn traceback(&self) -> Vec<(u16, u32, String)> {
        let line = |call: &ActiveCall| {
            let prototype = self.snapshot.prototype(call.prototype);
            let source = prototype.source.map_or(0, |s| s.0 as u16);
            (source, prototype.lines.get(call.pc).copied().unwrap_or(0), call.name.clone())
        };
        // Functions of our own modules have no lines.
        self.calls.iter().rev().map(line).filter(|(_, line, _)| *line > 0).collect()
    }

    /// `file:line` of a function's definition, as tracebacks have it.
    pub fn definition(&self, prototype: PrototypeId) -> String {
        let prototype = self.snapshot.prototype(prototype);
        let source = prototype.source.map_or("?", |source| self.snapshot.source(source).name.as_str());
        format!("{source}:{}", prototype.line_defined)
    }

    // ---- control flow ----------------------------------------------------------------------------------------------

    pub fn flow(&mut self, prototype: PrototypeId) -> Rc<Flow> {
        let snapshot = self.snapshot;
        let make = || {
            Rc::new(Flow::new(snapshot.prototype(prototype), &|inner| captured(snapshot, prototype, inner)))
        };
        self.flows.entry(prototype).or_insert_with(make).clone()
    }

    /// See [`crate::first_sums`].
    pub fn first_sums(&mut self, prototype: PrototypeId) -> Rc<BTreeMap<usize, First>> {
        let make = || Rc::new(crate::first_sums::find(self.snapshot.prototype(prototype)));
        self.first_sums.entry(prototype).or_insert_with(make).clone()
    }

    /// Registers of the active call number `index` whose values outlive the call that it is making.
    pub fn live_registers(&mut self, index: usize) -> RegisterSet {
        let Some(call) = self.calls.get(index).cloned() else { return RegisterSet::default() };
        let snapshot = self.snapshot;
        let code = &snapshot.prototype(call.prototype).code;
        let captured = |inner: usize| captured(snapshot, call.prototype, inner);
        self.flow(call.prototype).live_across(code, &captured, call.pc)
    }

    /// Registers of the innermost call that are read behind the current instruction.
    pub fn registers_used_later(&mut self) -> RegisterSet {
        let Some(call) = self.calls.last().cloned() else { return RegisterSet::default() };
        let snapshot = self.snapshot;
        let code = &snapshot.prototype(call.prototype).code;
        let captured = |inner: usize| captured(snapshot, call.prototype, inner);
        self.flow(call.prototype).live_after(code, &captured, call.pc)
    }
}

/// The registers of `prototype` that its inner function number `inner` captures.
fn captured(snapshot: &Snapshot, prototype: PrototypeId, inner: usize) -> Vec<usize> {
    let inner = snapshot.prototype(prototype).prototypes.get(inner);
    let upvalues = inner.map_or(&[][..], |id| &snapshot.prototype(*id).upvalues);
    upvalues.iter().filter(|u| u.in_stack).map(|u| usize::from(u.index)).collect()
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
