//! Where control flow meets: states are merged, and values that differ become block parameters.
//!
//! A [`Form`] says how a variable is represented beyond the join; each arriving value is encoded into the words of that
//! form. For loops the form is widened until what comes round fits (see [`crate::interpret`]).

use crate::connect::Layout;
use crate::context::{Context, Result, Stop};
use crate::error::LowerErrorKind;
use crate::execution::Execution;
use crate::looked::{add_copies, align_held, looked_of};
use crate::names;
use crate::paths::{Arm, Variable, read_variable};
use crate::state::Slot;
use crate::value::{Abs, Word};
use moonhook_ir::words::PathState;
use std::collections::BTreeSet;

impl Context<'_> {
    /// Merges paths of control flow; the merged state becomes the current one. Gives the merged extra values, `None` if no
    /// path gets here.
    pub fn join(&mut self, arms: Vec<Arm>) -> Result<Option<Vec<Abs>>> {
        let mut arms: Vec<Arm> = arms.into_iter().filter(|arm| arm.state.alive()).collect();
        if arms.len() <= 1 {
            return Ok(match arms.pop() {
                None => {
                    self.state.block = None;
                    None
                }
                Some(arm) => {
                    self.state = arm.state;
                    Some(arm.values)
                }
            });
        }
        if !crate::virtual_tables::align(&mut arms) {
            return self.needs_memory("setmetatable");
        }
        if !self.numbering.align_cells(&mut arms) {
            return self.unroll_or_refuse(LowerErrorKind::EscapingCapture, "function");
        }
        let variables = variables_of(&arms);
        let mut forms = Vec::new();
        for variable in &variables {
            let values: Vec<Abs> = arms.iter().map(|arm| read_variable(&arm.state, *variable)).collect();
            let form = self.form_of(&values.iter().collect::<Vec<_>>(), false);
            forms.push(self.execution.naming(*variable, form)?);
        }
        align_held(&mut arms);
        let lists: Vec<_> = arms.iter().map(|arm| arm.state.facts.looked.clone()).collect();
        let mut looked = looked_of(&mut arms);
        let own = arms.iter().map(|arm| arm.values.len()).max().unwrap_or(0);
        let copies = add_copies(&mut arms, &mut looked.all, &lists, own);
        let extra = own + copies;
        for index in 0..extra {
            let values: Vec<Abs> =
                arms.iter().map(|arm| arm.values.get(index).cloned().unwrap_or(Abs::Nil)).collect();
            forms.push(self.form_of(&values.iter().collect::<Vec<_>>(), false)?);
        }
        let mut values = self.connect(arms, &Layout::new(&variables, &forms), looked);
        let copied = values.split_off(own.min(values.len()));
        if copies > 0 {
            let places = self.state.facts.looked.iter_mut().flat_map(|looked| looked.copy.iter_mut());
            places.zip(copied).for_each(|(place, value)| place.value = value);
        }
        Ok(Some(values))
    }

    /// Merges paths of which each brings one number; gives the merged one.
    pub fn join_word(&mut self, arms: Vec<Arm>) -> Result<Word> {
        Ok(match self.join(arms)?.as_deref() {
            Some([Abs::Int(word)]) => *word,
            _ => Word::Imm(0),
        })
    }
}

impl Execution<'_> {
    /// A refusal that has no name to underline yet is about `variable`.
    pub fn naming<T>(&self, variable: Variable, result: Result<T>) -> Result<T> {
        result.map_err(|stop| match (stop, variable) {
            (Stop::Error(mut error), Variable::Register(register)) if error.place.name.is_none() => {
                error.place.name = names::text(&self.register_name(register)).map(str::to_string);
                Stop::Error(error)
            }
            (stop, _) => stop,
        })
    }
}

/// What may differ between the paths.
fn variables_of(arms: &[Arm]) -> Vec<Variable> {
    let Some((Arm { state, .. }, others)) = arms.split_first() else { return Vec::new() };
    let mut variables = Vec::new();
    if !others.iter().all(|arm| arm.state.registers.is(&state.registers)) {
        let varies = |register: &usize| {
            let slots = || arms.iter().map(|arm| arm.state.registers.get(*register));
            let slot = state.registers.get(*register);
            slots().any(|other| other != slot) && slots().all(|other| matches!(other, Some(Slot::Direct(_))))
        };
        variables.extend((0..state.registers.len()).filter(varies).map(Variable::Register));
    }
    let mut cells = BTreeSet::new();
    for other in others.iter().filter(|arm| !arm.state.cells.is(&state.cells)) {
        let pairs = state.cells.iter().zip(other.state.cells.iter());
        cells.extend(pairs.filter(|(mine, theirs)| mine != theirs).map(|((cell, _), _)| *cell));
    }
    variables.extend(cells.into_iter().map(Variable::Cell));
    variables.extend([Variable::Budget, Variable::Scratch, Variable::Heap]);
    for (key, words) in state.facts.packet.parsed.iter() {
        let everywhere = arms
            .iter()
            .all(|arm| arm.state.facts.packet.parsed(*key).is_some_and(|w| w.len() == words.len()));
        if everywhere {
            variables.extend((0..words.len()).map(|number| Variable::Parsed(*key, number)));
        }
    }
    variables
}
