//! Loops of the script: executed until nothing more turns out to vary (see [`crate::interpret`]).

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::fields::Made;
use crate::frame::Frame;
use crate::interned::Objects;
use crate::interpret::at_entry;
use crate::loop_forms;
use crate::paths::{Form, Variable, write_variable};
use crate::state::{Slot, State, Zero};
use crate::turns::give_back_strings;
use crate::value::{Abs, CellRef, Object, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Range, Words};
use std::collections::{BTreeMap, BTreeSet};

/// What there is before a loop, whose code is made again until nothing more turns out to vary.
struct Before {
    checkpoint: ir::Checkpoint,
    /// The block that enters the loop, and how many instructions it has.
    block: ir::Block,
    length: usize,
    loop_start: u32,
    /// Errors that are certain, and others.
    certain: usize,
    failed: usize,
    pending: BTreeMap<usize, Vec<State>>,
    returns: usize,
}

impl<'a> Context<'a> {
    /// Executes the loop at `header`, entered in the current state.
    pub fn run_loop(&mut self, frame: &mut Frame<'a>, header: usize, members: &[usize]) -> Result<()> {
        let key = frame.loop_key(header);
        if self.known.unrolled.contains_key(&key) {
            return self.unroll_loop(frame, header, members);
        }
        self.set_pc(frame, frame.flow.blocks[header].start);
        self.write_cases()?;
        self.execution.active_loops.push(key.clone());
        self.code.same.packet_may_change();
        let mut key = key;
        key.0.extend(self.execution.turns.iter().map(|turn| turn.number));
        let mut entry = self.take_state();
        let mut forms = {
            let known = self.execution.loop_forms.get(&key).cloned().unwrap_or_default();
            let forms = loop_forms::initial(&mut self.known.objects, &entry, known);
            self.or_refuse(forms)?
        };
        let mut facts = entry.facts.clone();
        // The verifier would walk the loop for each of the two.
        facts.looked.retain(|looked| looked.zero == Zero::Never);
        let Some(block) = entry.block else { return Ok(()) };
        let before = self.before_loop(frame, block);
        let mut narrowed = false;
        loop {
            self.state = State { facts: facts.clone(), ..entry.clone() };
            let (head, at_head, back) = self.run_turn(frame, header, members, &forms)?;
            let captured = capture_before_loop(&mut entry, &back);
            self.refuse_escapes(&entry, &back)?;
            let wider = loop_forms::what_varies(&mut self.known.objects, &at_head, &forms, &back);
            let wider = self.or_refuse(wider)?;
            let fewer = back.iter().fold(facts.clone(), |facts, state| facts.intersect(&state.facts));
            let settled = wider.is_none() && fewer == facts && !captured;
            let mut narrower = None;
            if settled && !narrowed {
                let fewer = loop_forms::narrower(&mut self.known.objects, &entry, &forms, &back);
                narrower = self.or_refuse(fewer)?;
            }
            if settled && narrower.is_none() {
                self.execution.loop_forms.insert(key, forms.clone());
                self.code.loop_start = before.loop_start;
                self.execution.active_loops.pop();
                return self.close_loop(head, &forms, back);
            }
            narrowed |= narrower.is_some();
            forms = narrower.or(wider).unwrap_or(forms);
            facts = fewer;
            self.back_to(&before, frame);
        }
    }

    /// Executes a turn from the current state on, in which what has a form varies. Gives the header's block, its state, and the states
    /// that come back to it.
    fn run_turn(
        &mut self,
        frame: &mut Frame<'a>,
        header: usize,
        members: &[usize],
        forms: &BTreeMap<Variable, Form>,
    ) -> Result<(ir::Block, State, Vec<State>)> {
        self.set_pc(frame, frame.flow.blocks[header].start);
        let head = self.enter_loop(forms)?;
        let at_head = self.state.clone();
        self.spend_step()?;
        // The header is executed as a plain block now; what jumps back to it ends up in `pending`.
        let start = self.take_state();
        frame.pending.insert(header, vec![start]);
        self.run_blocks(frame, members, Some(header))?;
        let back = frame.pending.remove(&header).unwrap_or_default();
        let mut back: Vec<State> = back.into_iter().map(|state| at_entry(state, frame, header)).collect();
        back.iter_mut().for_each(|state| give_back_strings(&self.known.stored, &at_head, state));
        Ok((head, at_head, back))
    }

    fn before_loop(&self, frame: &Frame<'a>, block: ir::Block) -> Before {
        Before {
            checkpoint: self.code.function.checkpoint(),
            block,
            length: self.code.function.block(block).insts.len(),
            loop_start: self.code.loop_start,
            certain: self.findings.certain.len(),
            failed: self.findings.failed.len(),
            pending: frame.pending.clone(),
            returns: frame.returns.len(),
        }
    }

    /// Takes back what the loop has made.
    fn back_to(&mut self, before: &Before, frame: &mut Frame<'a>) {
        self.code.function.rollback(&before.checkpoint);
        let block = self.code.function.block_mut(before.block);
        block.insts.truncate(before.length);
        block.terminator = None;
        self.forget_values();
        self.findings.certain.truncate(before.certain);
        self.findings.failed.truncate(before.failed);
        frame.pending.clone_from(&before.pending);
        frame.returns.truncate(before.returns);
    }

    /// Makes the header block, jumps to it and makes its state current.
    fn enter_loop(&mut self, forms: &BTreeMap<Variable, Form>) -> Result<ir::Block> {
        let args = self.loop_arguments(forms);
        self.code.loop_start = self.code.function.value_count;
        let head = self.code.function.new_block();
        let mut params = words_of(forms).map(|_| {
            let param = self.code.function.add_param(head);
            self.set_range(param, Range::FULL);
            Word::Value(param)
        });
        let params: Vec<Word> = params.by_ref().collect();
        self.terminate(ir::Terminator::Jump(ir::Target::new(head, args)));
        let mut at = 0;
        for (variable, form) in forms {
            let value = form.value(&params[at..at + form.words()]);
            at += form.words();
            write_variable(&mut self.state, *variable, value);
        }
        self.state.block = Some(head);
        Ok(head)
    }

    /// One step of the budget at the loop's head, and the kernel's own limit, which lets the verifier stop walking.
    pub fn spend_step(&mut self) -> Result<()> {
        let (go, stop) = (self.code.function.new_block(), self.code.function.new_block());
        self.code.function.block_mut(stop).cold = true;
        let target = |block| ir::Target::new(block, vec![]);
        self.terminate(ir::Terminator::MayGoto { go: target(go), stop: target(stop) });
        self.state.block = Some(stop);
        self.fail(Message::bare("step budget exhausted"));
        self.state.block = Some(go);
        self.spend_budget();
        Ok(())
    }

    /// Whether loops are charged for. What general code calls, and subprograms, loop over data of bounded size only.
    pub fn metered(&self) -> bool {
        self.around.is_metered()
    }

    /// One step of the budget.
    pub fn spend_budget(&mut self) {
        if !self.metered() {
            return;
        }
        let left = self.sub(self.state.budget, 1);
        let exhausted = self.compare(ir::CompareOp::SLt, left, 0);
        self.check(exhausted, || Message::bare("step budget exhausted"));
        self.state.budget = left;
    }

    /// What a turn makes and a later turn can reach has the same number as what the later turn makes in its place: such a
    /// loop is unrolled, or has a form in general code only.
    fn refuse_escapes(&mut self, entry: &State, back: &[State]) -> Result<()> {
        for state in back {
            let (cells, tables) = reachable(&self.known.objects, entry, state);
            if tables.iter().any(|table| !entry.tables.contains_key(table)) {
                return self.needs_memory("{");
            }
            if cells.iter().any(|cell| !entry.cells.contains_key(cell)) {
                return self.unroll_or_refuse(LowerErrorKind::EscapingCapture, "function");
            }
            let other = |(id, made): (&u32, &Made)| {
                state.tables.get(id).is_some_and(|m| m.metatable != made.metatable)
            };
            if entry.tables.iter().any(other) {
                return self.needs_memory("setmetatable");
            }
        }
        Ok(())
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
            let args = self.loop_arguments(forms);
            self.terminate(ir::Terminator::Jump(ir::Target::new(head, args)));
        }
        self.state.block = None;
        Ok(())
    }

    /// Drops what is noted of values that a rollback took away.
    fn forget_values(&mut self) {
        let count = self.code.function.value_count;
        self.known.variables.forget_values(count);
        self.known.shared.forget(count, self.code.function.slots.len());
        self.code.forget_values();
    }
}

/// Variables of outer scopes that are captured in the loop, and keys that it gives to tables, exist from the start when
/// it is executed again. Says whether there are any that do not yet.
fn capture_before_loop(entry: &mut State, back: &[State]) -> bool {
    let mut changed = crate::virtual_tables::align_entry(entry, back);
    for state in back {
        for (register, slot) in state.registers.iter().enumerate() {
            if let (Slot::Cell(cell), Some(Slot::Direct(value))) = (slot, entry.registers.get(register)) {
                entry.cells.insert(*cell, value.clone());
                entry.registers[register] = Slot::Cell(*cell);
                changed = true;
            }
        }
    }
    changed
}

/// The cells and tables that the state's registers, and what was there before the loop, lead to.
fn reachable(objects: &Objects, entry: &State, state: &State) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let (mut cells, mut tables) = (BTreeSet::new(), BTreeSet::new());
    let mut work: Vec<Abs> = entry.cells.keys().filter_map(|cell| state.cells.get(cell)).cloned().collect();
    for slot in &state.registers {
        match slot {
            Slot::Direct(value) => work.push(value.clone()),
            Slot::Cell(cell) if cells.insert(*cell) => work.extend(state.cells.get(cell).cloned()),
            Slot::Cell(_) | Slot::Dead => {}
        }
    }
    while let Some(value) = work.pop() {
        match &value {
            Abs::Object(Object::Closure(closure)) => {
                for upvalue in &closure.upvalues {
                    if let CellRef::Local(cell) = upvalue
                        && cells.insert(*cell)
                    {
                        work.extend(state.cells.get(cell).cloned());
                    }
                }
            }
            Abs::Object(Object::Matches(matches)) => cells.extend(matches.cells),
            Abs::Object(Object::Records(records)) => cells.extend(records.cells),
            Abs::Object(Object::Entries { table, position }) => {
                cells.insert(*position);
                tables.insert(*table);
            }
            Abs::Object(Object::Stored(table)) => {
                tables.insert(*table);
            }
            Abs::Object(Object::Made(table)) if tables.insert(*table) => {
                let Some(made) = state.tables.get(table) else { continue };
                work.extend(made.metatable.clone().map(Abs::Object));
                work.extend(made.fields.values().filter_map(|cell| state.cells.get(cell)).cloned());
            }
            Abs::Union(union) => work.extend(union.variants.iter().filter_map(|variant| match variant {
                Variant::Object(id) => Some(objects.value(*id)),
                _ => None,
            })),
            _ => {}
        }
    }
    (cells, tables)
}

fn words_of(forms: &BTreeMap<Variable, Form>) -> impl Iterator<Item = usize> + use<> {
    0..forms.values().map(Form::words).sum::<usize>()
}
