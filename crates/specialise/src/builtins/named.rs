//! Arguments by name: tables whose fields a function takes.
//!
//! Where a function is expanded in place, the fields are read here and become the arguments of a call ([`spread`]); in general code the
//! library's Lua reads them, and they are arguments in memory. What follows is the same for both.

use super::call::Call;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Object, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};

/// The states in which a field is given, each with it; in which there is none; and in which it is something else.
#[derive(Default)]
pub struct Number {
    pub given: Vec<(State, Word)>,
    pub none: Vec<State>,
    pub unfit: Vec<State>,
}

/// What is done with the fields of a table.
pub type Then<'t> = dyn FnMut(&mut Context<'_>, Vec<Abs>) -> Result<Vec<Arm>> + 't;

/// Whether the value is a table with fields.
pub fn is_record(value: &Abs) -> bool {
    matches!(value, Abs::Object(Object::Table(_) | Object::Made(_) | Object::Stored(_)) | Abs::Entry { .. })
}

/// Runs `then` with `before` and the fields of those names in a table, once for each type that they may have.
pub fn spread(
    context: &mut Context<'_>,
    record: &Abs,
    names: &[&str],
    before: Vec<Abs>,
    then: &mut Then<'_>,
) -> Result<Vec<Arm>> {
    let Some((name, more)) = names.split_first() else { return then(context, before) };
    let mut arms = Vec::new();
    for arm in field(context, record, name)? {
        context.state = arm.state;
        let value = arm.values.first().cloned().unwrap_or(Abs::Nil);
        arms.extend(context.arms_of_each(&value, &mut |context, value| {
            let values = before.iter().chain([value]).cloned().collect();
            spread(context, record, more, values, then)
        })?);
    }
    Ok(arms)
}

/// A field of a table without a metatable; with one the table is left to general code.
fn field(context: &mut Context<'_>, record: &Abs, name: &str) -> Result<Vec<Arm>> {
    if let Abs::Object(object) = record {
        if context.state.metatable_of(context.snapshot, object).is_some() {
            return context.unsupported(
                "a table with a metatable in the place of named arguments",
                "use a table without one",
                None,
            );
        }
        if let Object::Stored(table) = object {
            return context.read_stored(*table, &Abs::text(name));
        }
    }
    context.record_field(record, &name.as_bytes().into())
}

impl Call {
    /// An argument that is an integer of so many bits, or nil.
    pub fn number(&self, context: &mut Context<'_>, number: usize, bits: u32) -> Result<Number> {
        let mut found = Number::default();
        let arms = match self.is_in_memory(context, number) {
            true => {
                let (arms, none, unfit) = context.number_argument(number)?;
                (found.none, found.unfit) = (none, unfit);
                arms
            }
            false => vec![Arm { state: context.take_state(), values: vec![self.arg(number)] }],
        };
        for arm in arms {
            context.state = arm.state;
            match arm.values.first() {
                Some(Abs::Int(word)) => {
                    let wrong = context.compare(CompareOp::UGt, *word, (1 << bits) - 1);
                    context.leave_if(wrong, &mut found.unfit);
                    found.given.push((context.take_state(), *word));
                }
                None | Some(Abs::Nil) => found.none.push(context.take_state()),
                Some(_) => found.unfit.push(context.take_state()),
            }
        }
        Ok(found)
    }

    /// The states in which an argument is nil; goes on in the others.
    pub fn leave_if_nil(&self, context: &mut Context<'_>, number: usize) -> Result<Vec<State>> {
        if self.is_in_memory(context, number) {
            return Ok(context.split_nil_argument(number));
        }
        match self.arg(number) {
            Abs::Nil => Ok(vec![context.take_state()]),
            _ => Ok(vec![]),
        }
    }

    /// The same with a default; an error where it is something else.
    pub fn number_or(
        &self,
        context: &mut Context<'_>,
        (number, bits): (usize, u32),
        default: Word,
        problem: &str,
    ) -> Result<Word> {
        let Number { given, none, unfit } = self.number(context, number, bits)?;
        self.field_error_in(context, unfit, problem)?;
        let given = given.into_iter().chain(none.into_iter().map(|state| (state, default)));
        context.join_word(given.map(|(state, word)| Arm { state, values: vec![Abs::Int(word)] }).collect())
    }

    /// Raises, in these states, an error about the table with the fields, which is the first argument behind the object.
    pub fn field_error_in(&self, context: &mut Context<'_>, states: Vec<State>, problem: &str) -> Result<()> {
        context.fail_in(states, |context| {
            self.argument_error(context, 2, problem);
            Ok(())
        })
    }
}
