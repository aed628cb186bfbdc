//! Loops of the script: walked until nothing more turns out to vary (see [`crate::interpret`]).

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::fields::Made;
use crate::frame::Frame;
use crate::state::{Slot, State, Zero};
use crate::value::{Abs, CellRef, Object, Variant, Word};
use crate::ways::{Form, Variable, read_variable, write_variable};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Range, Words};
use std::collections::{BTreeMap, BTreeSet};

impl<'a> Context<'a> {
    /// Executes the loop at `header`, entered in the current state.
    pub fn run_loop(&mut self, frame: &mut Frame<'a>, header: usize, members: &[usize]) -> Result<()> {
        let key = self.loop_key(frame, header);
        if self.known.unrolled.contains_key(&key) {
            return self.unroll_loop(frame, header, members);
        }
        self.active_loops.push(key.clone());
        self.code.same.packet_may_change();
        let mut key = key;
        key.0.extend(self.turns.iter().map(|turn| turn.number));
        let mut entry = self.take_state();
        let mut forms = self.initial_forms(&entry, self.loop_forms.get(&key).cloned().unwrap_or_default())?;
        let mut facts = entry.facts.clone();
        // The verifier would walk the loop for each of the two.
        facts.looked.retain(|looked| looked.zero == Zero::Never);
        let checkpoint = self.code.function.checkpoint();
        let Some(before) = entry.block else { return Ok(()) };
        let length = self.code.function.block(before).insts.len();
        let (certain, pending) = (self.certain.len(), frame.pending.clone());
        let returns = frame.returns.len();
        let outer = self.code.loop_start;
        let mut narrowed = false;
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
            let mut back: Vec<State> =
                back.into_iter().map(|state| self.at_entry(state, frame, header)).collect();
            back.iter_mut().for_each(|state| self.give_back_strings(&at_head, state));
            let captured = self.capture_before_loop(&mut entry, &back);
            self.refuse_escapes(&entry, &back)?;
            let wider = self.what_varies(&at_head, &forms, &back)?;
            let fewer = back.iter().fold(facts.clone(), |facts, state| facts.intersect(&state.facts));
            let settled = wider.is_none() && fewer == facts && !captured;
            let narrower = match settled && !narrowed {
                true => self.narrower(&entry, &forms, &back)?,
                false => None,
            };
            if settled && narrower.is_none() {
                self.loop_forms.insert(key, forms.clone());
                self.code.loop_start = outer;
                self.active_loops.pop();
                return self.close_loop(head, &forms, back);
            }
            narrowed |= narrower.is_some();
            forms = narrower.or(wider).unwrap_or(forms);
            facts = fewer;
            self.code.function.rollback(&checkpoint);
            let block = self.code.function.block_mut(before);
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
                Variable::Budget | Variable::Scratch | Variable::Heap => true,
                Variable::Walk(..) => false,
            };
            if exists {
                let value = read_variable(entry, variable);
                let entering = self.form_of(&[&value], true)?;
                forms.insert(variable, self.widen(&form, &entering)?);
            }
        }
        forms.insert(Variable::Budget, Form::One(crate::value::Variant::Int));
        Ok(forms)
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
            let value = self.decode(form, &params[at..at + form.words()]);
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

    /// Variables of outer scopes that are captured in the loop, and keys that it gives to tables, exist from the start of
    /// the next walk on. Says whether there are any that do not yet.
    fn capture_before_loop(&self, entry: &mut State, back: &[State]) -> bool {
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

    /// What a turn makes and a later turn can reach has the same number as what the later turn makes in its place: such a
    /// loop is unrolled, or has a form in general code only.
    fn refuse_escapes(&mut self, entry: &State, back: &[State]) -> Result<()> {
        for state in back {
            let (cells, tables) = self.reachable(entry, state);
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

    /// The cells and tables that the state's registers, and what was there before the loop, lead to.
    fn reachable(&self, entry: &State, state: &State) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let (mut cells, mut tables) = (BTreeSet::new(), BTreeSet::new());
        let mut work: Vec<Abs> =
            entry.cells.keys().filter_map(|cell| state.cells.get(cell)).cloned().collect();
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
                    Variant::Object(id) => Some(self.object_value(*id)),
                    _ => None,
                })),
                _ => {}
            }
        }
        (cells, tables)
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
            let variables = registers.map(Variable::Register).chain(cells);
            let variables = variables.chain([Variable::Budget, Variable::Scratch, Variable::Heap]);
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

    /// The forms without variants that only earlier walks came upon, when less was known to vary: in `s = s .. x`, what `"" .. x` is.
    fn narrower(
        &mut self,
        entry: &State,
        forms: &BTreeMap<Variable, Form>,
        back: &[State],
    ) -> Result<Option<BTreeMap<Variable, Form>>> {
        let variants = |form: &Form| match form {
            Form::Same(_) => 0,
            Form::One(_) => 1,
            Form::Union(variants) => variants.len(),
        };
        let mut narrower = forms.clone();
        for (variable, form) in forms.iter().filter(|(_, form)| variants(form) > 1) {
            let states = std::iter::once(entry).chain(back);
            let values: Vec<Abs> = states.map(|state| read_variable(state, *variable)).collect();
            let met = self.form_of(&values.iter().collect::<Vec<_>>(), true)?;
            if variants(&met) < variants(form) {
                narrower.insert(*variable, met);
            }
        }
        Ok((narrower != *forms).then_some(narrower))
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

fn words_of(forms: &BTreeMap<Variable, Form>) -> impl Iterator<Item = usize> + use<> {
    0..forms.values().map(Form::words).sum::<usize>()
}
