//! Symbolic execution of bytecode: blocks, loops, calls.
//!
//! Each call of a Lua function is executed in place with the abstract values of its arguments, so code is specialised to
//! what load time knows. Blocks are walked in reverse postorder; where control flow meets, states are joined. A loop is
//! walked with the assumption that nothing varies in it; what the back edges contradict is made a parameter of the loop's
//! header, in the widened form, the loop's code is thrown away, and the loop is walked again.

use crate::code::Range;
use crate::context::{ActiveCall, Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::flow::Flow;
use crate::join::{Arm, Form, Variable, read_variable, write_variable};
use crate::opcode::Instruction;
use crate::ops;
use crate::state::{Slot, State};
use crate::value::{Abs, CellRef, Closure, Object, Shape, Word};
use moonhook_ir as ir;
use moonhook_snapshot::{Prototype, PrototypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Calls that may be active at once; beyond it the call graph is taken for a recursion.
const MAX_CALLS: usize = 64;

/// A call of a Lua function that is being executed.
pub struct Frame<'a> {
    pub prototype: &'a Prototype,
    pub flow: Rc<Flow>,
    pub closure: Rc<Closure>,
    pub varargs: Vec<Abs>,
    /// The values of an open result list (`…` or a call in last place) and the register of the first of them, waiting
    /// for the instruction that takes them.
    pub open: Option<(usize, Vec<Abs>)>,
    /// States that enter a block, by block number.
    pending: BTreeMap<usize, Vec<State>>,
    returns: Vec<Arm>,
    /// The way of calls to this frame: the program counters of the active calls.
    path: Vec<usize>,
}

/// What an instruction does to control flow.
pub enum Next {
    /// The next instruction follows.
    Continue,
    /// The instruction at that program counter, of the same block, follows.
    At(usize),
    /// The block ends here: all ways on have been entered.
    Done,
}

impl<'a> Context<'a> {
    /// Executes a Lua function in the current state. Gives one arm for each way it returns; the current state is dead
    /// afterwards. Registers of the caller are in the arms' states again.
    pub fn run_closure(&mut self, closure: Rc<Closure>, args: Vec<Abs>, name: String) -> Result<Vec<Arm>> {
        let snapshot = self.snapshot;
        let prototype = snapshot.prototype(closure.prototype);
        let active = |call: &&ActiveCall| call.prototype == closure.prototype;
        if self.calls.len() >= MAX_CALLS || self.calls.iter().filter(active).count() > 1 {
            let short = name.rsplit('\'').nth(1).unwrap_or(&name).to_string();
            return self.refuse(LowerErrorKind::Recursion { name: short.clone() }, Some(&short));
        }
        let flow = self.flow(closure.prototype);
        if let Some(pc) = flow.irreducible {
            self.loc.line = prototype.lines.get(pc).copied().unwrap_or(0);
            return self.refuse(LowerErrorKind::IrreducibleLoop, Some("goto"));
        }
        let path = self.calls.iter().map(|call| call.pc).collect();
        self.callers.push(std::mem::take(&mut self.state.registers));
        let loc = self.loc;
        let parameters = usize::from(prototype.parameters);
        let mut registers = args.clone();
        registers.resize(parameters, Abs::Nil);
        let varargs =
            if prototype.is_vararg { args.into_iter().skip(parameters).collect() } else { Vec::new() };
        self.state.registers = registers.into_iter().map(Slot::Direct).collect();
        self.state.registers.resize(usize::from(prototype.stack_size) + 1, Slot::Dead);
        self.calls.push(ActiveCall { prototype: closure.prototype, pc: 0, name });
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
        self.calls.pop();
        self.loc = loc;
        let caller = self.callers.pop().unwrap_or_default();
        self.state.registers = caller.clone();
        let restore = |mut arm: Arm| {
            arm.state.registers = caller.clone();
            arm
        };
        Ok(frame.returns.into_iter().map(restore).collect())
    }

    /// Executes the pending ones of `blocks`, in that order; `inside` is the header of the loop they are walked for.
    fn run_blocks(&mut self, frame: &mut Frame<'a>, blocks: &[usize], inside: Option<usize>) -> Result<()> {
        let mut done = BTreeSet::new();
        for &block in blocks {
            if done.contains(&block) {
                continue;
            }
            let Some(states) = frame.pending.remove(&block) else { continue };
            let arms = states
                .into_iter()
                .map(|state| Arm { state: self.at_entry(state, frame, block), values: vec![] });
            let arms = arms.collect();
            self.set_pc(frame, frame.flow.blocks[block].start);
            if self.join(arms)?.is_none() {
                continue;
            }
            match &frame.flow.clone().loops[block] {
                Some(body) if inside != Some(block) => {
                    let members: Vec<usize> = blocks.iter().copied().filter(|b| body.contains(b)).collect();
                    self.run_loop(frame, block, &members)?;
                    done.extend(members);
                }
                _ => self.run_block(frame, block)?,
            }
        }
        Ok(())
    }

    /// Forgets registers that the block and what follows do not read. Captured ones stay captured until their scope ends: a
    /// later assignment is seen by the closures.
    fn at_entry(&mut self, mut state: State, frame: &Frame<'a>, block: usize) -> State {
        let live = &frame.flow.blocks[block].live_in;
        for (register, slot) in state.registers.iter_mut().enumerate() {
            if !live.contains(register) && !matches!(slot, Slot::Cell(_)) {
                *slot = Slot::Dead;
            }
        }
        state
    }

    pub fn set_pc(&mut self, frame: &Frame<'a>, pc: usize) {
        let source = frame.prototype.source.map_or(0, |s| s.0 as u16);
        self.loc = ir::Loc { source, line: frame.prototype.lines.get(pc).copied().unwrap_or(0) };
        if let Some(call) = self.calls.last_mut() {
            call.pc = pc;
        }
    }

    fn run_block(&mut self, frame: &mut Frame<'a>, block: usize) -> Result<()> {
        let (start, end) = (frame.flow.blocks[block].start, frame.flow.blocks[block].end);
        let mut pc = start;
        while pc < end && self.state.alive() {
            self.set_pc(frame, pc);
            if self.function.value_count as usize > self.options.max_values {
                return self.refuse(LowerErrorKind::TooLarge { limit: self.options.max_values }, None);
            }
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

    /// Lets `state` enter the block that starts at `pc`.
    pub fn enter_block(&mut self, frame: &mut Frame<'a>, pc: usize, state: State) {
        if state.alive() {
            self.note_passed();
        }
        if state.alive()
            && let Some(block) = frame.flow.blocks.iter().position(|block| block.start == pc)
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

    // ---- loops -------------------------------------------------------------------------------------------------

    /// Executes the loop at `header`, entered in the current state.
    fn run_loop(&mut self, frame: &mut Frame<'a>, header: usize, members: &[usize]) -> Result<()> {
        let mut entry = self.take_state();
        let mut key = frame.path.clone();
        key.push(frame.flow.blocks[header].start);
        let key = (key, header);
        let mut forms = self.initial_forms(&entry, self.loop_forms.get(&key).cloned().unwrap_or_default())?;
        let mut facts = entry.facts.clone();
        let checkpoint = self.function.checkpoint();
        let Some(before) = entry.block else { return Ok(()) };
        let length = self.function.block(before).insts.len();
        let (certain, pending) = (self.certain.len(), frame.pending.clone());
        let returns = frame.returns.len();
        let outer = self.loop_start;
        loop {
            self.state = entry.clone();
            self.state.facts = facts.clone();
            self.set_pc(frame, frame.flow.blocks[header].start);
            let head = self.enter_loop(&forms)?;
            let at_head = self.state.clone();
            self.spend_step()?;
            // The header is walked as a plain block now; what jumps back to it ends up in `pending`.
            let start = self.take_state();
            frame.pending.insert(header, vec![start]);
            self.run_blocks(frame, members, Some(header))?;
            let back = frame.pending.remove(&header).unwrap_or_default();
            let back: Vec<State> =
                back.into_iter().map(|state| self.at_entry(state, frame, header)).collect();
            let captured = self.capture_before_loop(&mut entry, &back);
            let wider = self.what_varies(&at_head, &forms, &back)?;
            let fewer = back.iter().fold(facts.clone(), |facts, state| facts.intersect(&state.facts));
            if wider.is_none() && fewer == facts && !captured {
                self.loop_forms.insert(key, forms.clone());
                self.loop_start = outer;
                return self.close_loop(head, &forms, back);
            }
            forms = wider.unwrap_or(forms);
            facts = fewer;
            self.function.rollback(&checkpoint);
            let block = self.function.block_mut(before);
            block.insts.truncate(length);
            block.terminator = None;
            self.forget_values();
            self.certain.truncate(certain);
            frame.pending = pending.clone();
            frame.returns.truncate(returns);
        }
    }

    /// What earlier walks found, widened to what enters the loop this time.
    fn initial_forms(
        &mut self,
        entry: &State,
        known: BTreeMap<Variable, Form>,
    ) -> Result<BTreeMap<Variable, Form>> {
        let mut forms = BTreeMap::new();
        for (variable, form) in known {
            let exists = match variable {
                Variable::Register(register) => {
                    matches!(entry.registers.get(register), Some(Slot::Direct(_)))
                }
                Variable::Cell(cell) => entry.cells.contains_key(&cell),
                Variable::Budget | Variable::Scratch => true,
                Variable::Walk(..) => false,
            };
            if exists {
                let value = read_variable(entry, variable);
                let entering = self.form_of(&[&value], true)?;
                forms.insert(variable, self.widen(&form, &entering)?);
            }
        }
        forms.insert(Variable::Budget, Form::One(crate::value::Shape::Int));
        Ok(forms)
    }

    /// Makes the header block, jumps to it and makes its state current.
    fn enter_loop(&mut self, forms: &BTreeMap<Variable, Form>) -> Result<ir::Block> {
        let mut words = Vec::new();
        for (variable, form) in forms {
            let value = read_variable(&self.state, *variable);
            words.extend(self.encode(&value, form));
        }
        let words = self.launder(&words);
        let args = words.into_iter().map(|word| self.value(word)).collect();
        self.loop_start = self.function.value_count;
        let head = self.function.new_block();
        let mut params = words_of(forms).map(|_| {
            let param = self.function.add_param(head);
            self.set_range(param, Range::FULL);
            Word::Value(param)
        });
        let params: Vec<Word> = params.by_ref().collect();
        self.terminate(ir::Terminator::Jump(ir::Target::new(head, args)));
        let mut at = 0;
        for (variable, form) in forms {
            let value = self.decode(form, &params[at..at + form.words()]);
            at += form.words();
            write_variable(&mut self.state, *variable, value);
        }
        self.state.block = Some(head);
        Ok(head)
    }

    /// One step of the budget at the loop's head, and the kernel's own limit, which lets the verifier stop walking.
    pub fn spend_step(&mut self) -> Result<()> {
        let (go, stop) = (self.function.new_block(), self.function.new_block());
        self.function.block_mut(stop).cold = true;
        let target = |block| ir::Target::new(block, vec![]);
        self.terminate(ir::Terminator::MayGoto { go: target(go), stop: target(stop) });
        self.state.block = Some(stop);
        self.fail(Message::bare("step budget exhausted"));
        self.state.block = Some(go);
        let left = self.sub(self.state.budget, 1);
        let exhausted = self.compare(ir::CompareOp::SLt, left, 0);
        self.check(exhausted, || Message::bare("step budget exhausted"));
        self.state.budget = left;
        Ok(())
    }

    /// Variables of outer scopes that are captured in the loop, and cells that outlive an iteration, exist from the start
    /// of the next walk on. Says whether there are any that do not yet.
    fn capture_before_loop(&self, entry: &mut State, back: &[State]) -> bool {
        let mut changed = false;
        for state in back {
            for (register, slot) in state.registers.iter().enumerate() {
                if let (Slot::Cell(cell), Some(Slot::Direct(value))) = (slot, entry.registers.get(register)) {
                    entry.cells.insert(*cell, value.clone());
                    entry.registers[register] = Slot::Cell(*cell);
                    changed = true;
                }
            }
            for cell in self.cells_in_use(state) {
                changed |= !entry.cells.contains_key(&cell);
                entry.cells.entry(cell).or_insert(Abs::Nil);
            }
        }
        changed
    }

    /// The cells that the state's registers lead to.
    fn cells_in_use(&self, state: &State) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut work: Vec<Abs> = Vec::new();
        for slot in &state.registers {
            match slot {
                Slot::Direct(value) => work.push(value.clone()),
                Slot::Cell(cell) if found.insert(*cell) => work.extend(state.cells.get(cell).cloned()),
                Slot::Cell(_) | Slot::Dead => {}
            }
        }
        while let Some(value) = work.pop() {
            match &value {
                Abs::Object(Object::Closure(closure)) => {
                    for upvalue in &closure.upvalues {
                        if let CellRef::Local(cell) = upvalue
                            && found.insert(*cell)
                        {
                            work.extend(state.cells.get(cell).cloned());
                        }
                    }
                }
                Abs::Union(union) => work.extend(union.shapes.iter().filter_map(|shape| match shape {
                    Shape::Object(id) => Some(self.object_value(*id)),
                    _ => None,
                })),
                _ => {}
            }
        }
        found
    }

    /// The forms widened to what the back edges bring; `None` if everything fits.
    fn what_varies(
        &mut self,
        head: &State,
        forms: &BTreeMap<Variable, Form>,
        back: &[State],
    ) -> Result<Option<BTreeMap<Variable, Form>>> {
        let mut wider = forms.clone();
        let mut changed = false;
        for state in back {
            let registers =
                (0..head.registers.len()).filter(|r| matches!(head.registers[*r], Slot::Direct(_)));
            let cells = head.cells.keys().map(|cell| Variable::Cell(*cell));
            let variables =
                registers.map(Variable::Register).chain(cells).chain([Variable::Budget, Variable::Scratch]);
            for variable in variables {
                let value = read_variable(state, variable);
                let form = match wider.get(&variable) {
                    Some(form) => form.clone(),
                    None => Form::Same(read_variable(head, variable)),
                };
                if self.fits(&value, &form) {
                    continue;
                }
                let coming = self.form_of(&[&value], true)?;
                let form = self.widen(&form, &coming)?;
                wider.insert(variable, form);
                changed = true;
            }
        }
        Ok(changed.then_some(wider))
    }

    /// Connects the back edges to the header.
    fn close_loop(
        &mut self,
        head: ir::Block,
        forms: &BTreeMap<Variable, Form>,
        back: Vec<State>,
    ) -> Result<()> {
        for state in back {
            self.state = state;
            let mut words = Vec::new();
            for (variable, form) in forms {
                let value = read_variable(&self.state, *variable);
                words.extend(self.encode(&value, form));
            }
            let words = self.launder(&words);
            let args = words.into_iter().map(|word| self.value(word)).collect();
            self.terminate(ir::Terminator::Jump(ir::Target::new(head, args)));
        }
        self.state.block = None;
        Ok(())
    }

    /// Drops what is noted of values that a rollback took away.
    fn forget_values(&mut self) {
        let count = self.function.value_count;
        self.ranges.truncate(count as usize);
        self.sums.retain(|value, _| value.0 < count);
        self.variables.forget_values(count);
    }

    // ---- calls -------------------------------------------------------------------------------------------------

    /// Calls any value with known arguments, in the current state. Gives one arm for each way it returns.
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
                    Some((kind, name)) => format!("{kind} '{name}'"),
                    None => format!("function <{}>", self.definition(closure.prototype)),
                };
                self.run_closure(closure.clone(), args, title)
            }
            Abs::Object(Object::Builtin(builtin)) => {
                let call = crate::builtins::Call { name: builtin, args, called: name, narrowed: false };
                crate::builtins::call(self, call)
            }
            Abs::Union(_) => {
                let mut arms = Vec::new();
                for (state, value) in self.alternatives(callee) {
                    self.state = state;
                    arms.extend(self.call_value(&value, args.clone(), name.clone(), false)?);
                }
                Ok(arms)
            }
            Abs::Object(Object::Opaque("function")) => {
                let called = name.as_ref().map_or("?", |(_, name)| name.as_str());
                let help = "call it at load time, outside the handler".to_string();
                self.refuse(LowerErrorKind::Builtin { name: called.to_string(), help }, Some(called))
            }
            other => {
                let called = name.as_ref().map(|(_, name)| name.as_str());
                crate::tables::refuse_metamethod(self, other, "__call", called)?;
                let type_name = other.message_name();
                let message = format!("attempt to call a {type_name} value{}", crate::names::suffix(&name));
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

    /// `file:line` of a function's definition, as tracebacks have it.
    fn definition(&self, prototype: PrototypeId) -> String {
        let prototype = self.snapshot.prototype(prototype);
        let source = prototype.source.map_or("?", |source| self.snapshot.source(source).name.as_str());
        format!("{source}:{}", prototype.line_defined)
    }
}

fn words_of(forms: &BTreeMap<Variable, Form>) -> impl Iterator<Item = usize> + use<> {
    0..forms.values().map(Form::words).sum::<usize>()
}
