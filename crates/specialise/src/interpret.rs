//! Symbolic execution of bytecode: blocks, loops, calls.
//!
//! Each call of a Lua function is executed in place with the abstract values of its arguments, so code is specialised to
//! what load time knows. Blocks are executed in reverse postorder; where control flow meets, states are joined. A loop is
//! executed with the assumption that nothing varies in it; what the back edges contradict is made a parameter of the loop's
//! header, in the widened form, the loop's code is thrown away, and the loop is executed again.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::frame::{Frame, Next};
use crate::knowledge::MOST_ATTEMPTS;
use crate::opcode::{Instruction, Opcode};
use crate::ops;
use crate::paths::Arm;
use crate::sites::ActiveCall;
use crate::state::{Slot, State};
use crate::value::{Abs, Closure, Object};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, PathState};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Calls that may be active at once; beyond it the call graph is taken for a recursion.
const MAX_CALLS: usize = 64;

impl<'a> Context<'a> {
    /// Executes a Lua function in the current state. Gives one arm for each path on which it returns; the current state is dead
    /// afterwards. Registers of the caller are in the arms' states again.
    pub fn run_closure(&mut self, closure: Rc<Closure>, args: Vec<Abs>, name: String) -> Result<Vec<Arm>> {
        let snapshot = self.snapshot;
        let prototype = snapshot.prototype(closure.prototype);
        let active = |call: &&ActiveCall| call.prototype == closure.prototype;
        let short = || name.rsplit('\'').nth(1).unwrap_or(&name).to_string();
        if self.execution.calls.iter().filter(active).count() > 1 {
            return self.refuse(LowerErrorKind::Recursion { name: short() }, Some(&short()));
        }
        if self.execution.calls.len() >= MAX_CALLS {
            let what = format!("a chain of more than {MAX_CALLS} calls");
            return self.unsupported(what, "call fewer functions from within functions", Some(&short()));
        }
        let flow = self.execution.flow(closure.prototype);
        if let Some(pc) = flow.irreducible {
            self.code.loc.line = prototype.lines.get(pc).copied().unwrap_or(0);
            return self.refuse(LowerErrorKind::IrreducibleLoop, Some("goto"));
        }
        let path = self.execution.calls.iter().map(|call| call.pc).collect();
        self.execution.callers.push(std::mem::take(&mut self.state.registers));
        let loc = self.code.loc;
        let parameters = usize::from(prototype.parameters);
        let mut registers = args.clone();
        registers.resize(parameters, Abs::Nil);
        let varargs =
            if prototype.is_vararg { args.into_iter().skip(parameters).collect() } else { Vec::new() };
        self.state.registers = registers.into_iter().map(Slot::Direct).collect();
        self.state.registers.resize(usize::from(prototype.stack_size) + 1, Slot::Dead);
        self.execution.calls.push(ActiveCall { prototype: closure.prototype, pc: 0, name });
        let mut frame = Frame {
            prototype,
            flow,
            closure,
            varargs,
            open: None,
            pending: BTreeMap::new(),
            returns: Vec::new(),
            path,
        };
        let entry = self.take_state();
        frame.pending.insert(0, vec![entry]);
        let order = frame.flow.order.clone();
        self.run_blocks(&mut frame, &order, None)?;
        self.execution.calls.pop();
        self.code.loc = loc;
        let caller = self.execution.callers.pop().unwrap_or_default();
        self.state.registers = caller.clone();
        let restore = |mut arm: Arm| {
            arm.state.registers = caller.clone();
            arm
        };
        Ok(frame.returns.into_iter().map(restore).collect())
    }

    /// Executes the pending ones of `blocks`, in that order; `inside` is the header of the loop they are executed for.
    pub fn run_blocks(
        &mut self,
        frame: &mut Frame<'a>,
        blocks: &[usize],
        inside: Option<usize>,
    ) -> Result<()> {
        let mut done = BTreeSet::new();
        for &block in blocks {
            if done.contains(&block) {
                continue;
            }
            let Some(states) = frame.pending.remove(&block) else { continue };
            let arms =
                states.into_iter().map(|state| Arm { state: at_entry(state, frame, block), values: vec![] });
            let arms = arms.collect();
            self.set_pc(frame, frame.flow.blocks[block].start);
            if self.join(arms)?.is_none() {
                continue;
            }
            match frame.flow.loops[block] {
                Some(_) if inside != Some(block) => {
                    let members = frame.flow.members(block, blocks);
                    self.run_loop(frame, block, &members)?;
                    done.extend(members);
                }
                _ => self.run_block(frame, block)?,
            }
        }
        Ok(())
    }

    pub fn set_pc(&mut self, frame: &Frame<'a>, pc: usize) {
        // Functions of our own modules have no lines: what they do happens where the script calls them.
        if let Some(line) = frame.prototype.lines.get(pc).copied() {
            self.code.loc = ir::Loc { source: frame.prototype.source.map_or(0, |s| s.0 as u16), line };
        }
        if let Some(call) = self.execution.calls.last_mut() {
            call.pc = pc;
        }
    }

    fn run_block(&mut self, frame: &mut Frame<'a>, block: usize) -> Result<()> {
        let (start, end) = (frame.flow.blocks[block].start, frame.flow.blocks[block].end);
        let mut pc = start;
        while pc < end && self.state.alive() {
            self.set_pc(frame, pc);
            self.check_growth()?;
            let instruction = Instruction(frame.prototype.code[pc]);
            let opcode = instruction.opcode();
            match opcode.map(|opcode| ops::execute(self, frame, opcode, instruction, pc)).transpose()? {
                Some(Next::Continue) => pc += 1,
                Some(Next::At(next)) => pc = next,
                Some(Next::Done) | None => return Ok(()),
            }
        }
        if self.state.alive() {
            let next = self.take_state();
            let successor = frame.flow.blocks[block].successors.first().copied();
            if let Some(successor) = successor {
                frame.pending.entry(successor).or_default().push(next);
            }
        }
        Ok(())
    }

    /// Code must not grow without bounds, nor may finding out what varies make it again and again.
    pub fn check_growth(&mut self) -> Result<()> {
        let values = self.code.function.value_count as usize;
        self.known.work.spent += 1 + values.saturating_sub(self.known.work.values);
        self.known.work.values = values;
        // Lines of chains need not make values.
        if values.max(self.known.work.lines) > self.options.max_values {
            return self.refuse(LowerErrorKind::TooLarge { limit: self.options.max_values }, None);
        }
        if self.known.attempts > MOST_ATTEMPTS {
            let limit = self.known.work.spent;
            return self.refuse(LowerErrorKind::TooMuchWork { limit }, None);
        }
        match self.known.work.limit {
            Some(limit) if self.known.work.spent > limit => {
                self.refuse(LowerErrorKind::TooMuchWork { limit }, None)
            }
            _ => Ok(()),
        }
    }

    /// Lets `state` enter the block that starts at `pc`.
    pub fn enter_block(&mut self, frame: &mut Frame<'a>, pc: usize, state: State) {
        if state.alive() {
            self.note_passed();
        }
        if state.alive()
            && let Some(block) = frame.flow.block_at(pc)
        {
            frame.pending.entry(block).or_default().push(state);
        }
    }

    pub fn return_values(&mut self, frame: &mut Frame<'a>, values: Vec<Abs>) {
        if self.state.alive() {
            self.note_passed();
        }
        let state = self.take_state();
        frame.returns.push(Arm { state, values });
    }

    // ---- calls -------------------------------------------------------------------------------------------------

    /// Calls any value with known arguments, in the current state. Gives one arm for each path on which it returns.
    pub fn call(
        &mut self,
        callee: &Abs,
        args: Vec<Abs>,
        name: Option<crate::names::Name>,
    ) -> Result<Vec<Arm>> {
        self.call_value(callee, args, name, true)
    }

    fn call_value(
        &mut self,
        callee: &Abs,
        args: Vec<Abs>,
        name: Option<crate::names::Name>,
        certain: bool,
    ) -> Result<Vec<Arm>> {
        match callee {
            Abs::Object(Object::Closure(closure)) => {
                let title = match &name {
                    Some((kind, name)) => format!("{kind} '{}'", String::from_utf8_lossy(name)),
                    None => format!("function <{}>", self.execution.definition(closure.prototype)),
                };
                self.run_closure(closure.clone(), args, title)
            }
            Abs::Object(Object::Builtin(builtin)) => {
                let call = crate::builtins::call::Call { name: builtin, args, called: name, narrowed: false };
                crate::builtins::call(self, call)
            }
            Abs::Object(Object::Entries { table, position }) => match name {
                Some(("for iterator", _)) => self.next_stored(*table, *position),
                // The function is `next`, which goes by the key that it is given.
                _ => self.refuse_stored("pairs"),
            },
            Abs::Object(Object::Matches(matches)) => crate::builtins::gmatch::next_match(self, matches),
            Abs::Object(Object::Records(records)) => crate::builtins::dns_records::next_record(self, records),
            Abs::Union(_) => self.arms_of_each(callee, &mut |context, value| {
                context.call_value(value, args.clone(), name.clone(), false)
            }),
            Abs::Object(Object::Opaque("function", _)) => {
                let called = crate::names::text(&name).unwrap_or("?");
                let help = "call it at load time, outside the handler".to_string();
                let kind = LowerErrorKind::Builtin { name: called.to_string(), help, general: false };
                self.refuse(kind, Some(called))
            }
            other => {
                // What is called is the first argument (manual § 2.4).
                if let Some(function) = crate::tables::metamethod(self, other, "__call") {
                    let args = [other.clone()].into_iter().chain(args).collect();
                    return self.call_value(&function, args, name, certain);
                }
                let called = crate::names::text(&name);
                crate::tables::refuse_metamethod(self, other, "__call", called)?;
                let type_name = other.message_name();
                let message = crate::names::named(format!("attempt to call a {type_name} value"), &name);
                match certain {
                    true => {
                        let help =
                            "functions must be known when the handler is attached: define it before, outside";
                        self.certain_error(message, called, help);
                    }
                    false => self.fail(Message::new(message)),
                }
                Ok(vec![])
            }
        }
    }
}

/// Forgets registers that the block and what follows do not read. Captured ones stay captured until their scope ends: a
/// later assignment is seen by the closures.
pub fn at_entry(mut state: State, frame: &Frame<'_>, block: usize) -> State {
    let mut live = frame.flow.blocks[block].live_in;
    let first = Instruction(frame.prototype.code[frame.flow.blocks[block].start]);
    // A traversal does not need the key of the entry that it comes from, nor records of messages the one before.
    if first.opcode() == Some(Opcode::TForCall)
        && let Some(Slot::Direct(Abs::Object(Object::Traversal { .. } | Object::Records(_)))) =
            state.registers.get(first.a())
    {
        live.remove(first.a() + 3);
    }
    let ends = |(register, slot): (usize, &Slot)| !live.contains(register) && matches!(slot, Slot::Direct(_));
    if state.registers.iter().enumerate().any(ends) {
        for (register, slot) in state.registers.iter_mut().enumerate() {
            if ends((register, slot)) {
                *slot = Slot::Dead;
            }
        }
    }
    state
}
