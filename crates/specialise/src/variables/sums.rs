//! Sums of variables that may be nil: `n = (n or 0) + 1` is an atomic addition as well.
//!
//! Where a variable is added to, its nil has 0 as its integer, so that what adds to it adds to that, and says behind that that it is an integer. Of
//! CPUs that all make the first sum none is lost then. Who assigns nil writes the tag before the 0: whatever other CPUs do in between, the
//! variable does not stay nil with another integer than 0.

use super::{PAYLOAD, Variables};
use crate::context::{Context, Result};
use crate::paths::Form;
use crate::state::Facts;
use crate::value::{Abs, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::Words;
use moonhook_ir::{Op, Size};

/// A value behind a join that is what was read of a variable, nil being 0, plus something.
pub enum MetSum {
    /// Nothing was added, so that it counts as what was read.
    Read(usize),
    Sum(ir::Value, Word),
}

impl Context<'_> {
    /// Assigns a value that is the variable's own plus something; says whether it is.
    pub(super) fn add_to_variable(
        &mut self,
        index: usize,
        (base, form): (ir::Value, &Form),
        value: &Abs,
    ) -> Result<bool> {
        let Abs::Int(Word::Value(sum)) = *value else { return Ok(false) };
        let may_be_nil = is_nil_or_integer(form);
        if !may_be_nil && *form != Form::One(Variant::Int) {
            return Ok(false);
        }
        let variables = &self.known.variables;
        let Some((old, added)) = variables.additions.get(&sum).copied() else { return Ok(false) };
        if variables.loads.get(&old) != Some(&index) {
            return Ok(false);
        }
        let added = added.unwrap_or_else(|| self.sub(Word::Value(sum), Word::Value(old)));
        let value = self.value(added);
        let old = self.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B8, base, disp: PAYLOAD, value });
        if may_be_nil {
            self.store(base, 0, Size::B8, Word::Imm(Variant::Int.tag()));
            if self.known.variables.summed.insert(index) && self.known.variables.unclear.contains(&index) {
                self.learned()?;
            }
        }
        let new = self.add(old, added);
        self.known.variables.forget_loads(index);
        self.state.replace(sum, new);
        Ok(true)
    }

    /// Behind the assignment of nil: what is added to a nil is added to 0.
    pub(super) fn clear_sum(&mut self, index: usize, base: ir::Value) {
        // Functions of flows may add to it, whatever the handlers do.
        if self.known.variables.summed.contains(&index) || !self.snapshot.flows.is_empty() {
            self.store(base, PAYLOAD, Size::B8, Word::Imm(0));
        } else {
            self.known.variables.unclear.insert(index);
        }
    }

    /// Notes what was read of a variable that may be nil.
    pub(super) fn note_read_of_union(&mut self, index: usize, form: &Form, words: &[Word]) {
        if let [tag, Word::Value(payload)] = *words
            && is_nil_or_integer(form)
        {
            self.known.variables.note_load(payload, index);
            // The value itself stands for its absence.
            self.known.shared.additions.set_nil(tag, Variant::Nil.tag(), payload);
        }
    }
}

/// What can be nothing else, and can be both.
pub(super) fn is_nil_or_integer(form: &Form) -> bool {
    matches!(form, Form::Union(variants) if **variants == [Variant::Nil, Variant::Int])
}

impl Variables {
    /// What the words that meet on paths with these facts are, if all came from one variable.
    pub fn sum_of_join(&self, paths: &[(Word, &Facts)]) -> Option<MetSum> {
        let (index, load, added) = paths.iter().find_map(|(word, _)| self.origin(*word))?;
        let is_nil = |facts: &Facts| facts.absent.iter().any(|read| self.loads.get(read) == Some(&index));
        let same = |(word, facts): &(Word, &Facts)| match self.origin(*word) {
            Some((of, _, own)) => of == index && own == added,
            None => *word == added && is_nil(facts),
        };
        if !paths.iter().all(same) {
            return None;
        }
        Some(match added {
            Word::Imm(0) => MetSum::Read(index),
            added => MetSum::Sum(load, added),
        })
    }

    /// The variable that a word was read from, the value read, and what was added since.
    fn origin(&self, word: Word) -> Option<(usize, ir::Value, Word)> {
        let Word::Value(value) = word else { return None };
        let (load, added) = match self.additions.get(&value) {
            Some((load, added)) => (*load, (*added)?),
            None => (value, Word::Imm(0)),
        };
        Some((*self.loads.get(&load)?, load, added))
    }

    /// Notes what a value behind a join is.
    pub fn note_sum_of_join(&mut self, merged: Word, sum: MetSum) {
        let Word::Value(value) = merged else { return };
        match sum {
            MetSum::Read(index) => self.note_load(value, index),
            MetSum::Sum(load, added) => {
                self.additions.insert(value, (load, Some(added)));
            }
        }
    }
}
