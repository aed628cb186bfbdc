//! What varies in a loop of the script, and in which form it is passed from turn to turn.

use crate::error::LowerErrorKind;
use crate::interned::Objects;
use crate::paths::{Form, Variable, read_variable};
use crate::state::{Slot, State};
use crate::value::{Abs, Variant};
use std::collections::BTreeMap;

/// What was found when the loop was executed before, widened to what enters the loop this time.
pub fn initial(
    objects: &mut Objects,
    entry: &State,
    known: BTreeMap<Variable, Form>,
) -> Result<BTreeMap<Variable, Form>, LowerErrorKind> {
    let mut forms = BTreeMap::new();
    for (variable, form) in known {
        let exists = match variable {
            Variable::Register(register) => {
                matches!(entry.registers.get(register), Some(Slot::Direct(_)))
            }
            Variable::Cell(cell) => entry.cells.contains_key(&cell),
            Variable::Budget | Variable::Scratch | Variable::Heap => true,
            Variable::Parsed(..) => false,
        };
        if exists {
            let value = read_variable(entry, variable);
            let entering = objects.form_of(&[&value], true)?;
            forms.insert(variable, objects.widen(&form, &entering)?);
        }
    }
    forms.insert(Variable::Budget, Form::One(Variant::Int));
    Ok(forms)
}

/// The forms widened to what the back edges bring; `None` if everything fits.
pub fn what_varies(
    objects: &mut Objects,
    head: &State,
    forms: &BTreeMap<Variable, Form>,
    back: &[State],
) -> Result<Option<BTreeMap<Variable, Form>>, LowerErrorKind> {
    let mut wider = forms.clone();
    let mut changed = false;
    for state in back {
        let registers = (0..head.registers.len()).filter(|r| matches!(head.registers[*r], Slot::Direct(_)));
        let cells = head.cells.keys().map(|cell| Variable::Cell(*cell));
        let variables = registers.map(Variable::Register).chain(cells);
        let variables = variables.chain([Variable::Budget, Variable::Scratch, Variable::Heap]);
        for variable in variables {
            let value = read_variable(state, variable);
            let form = match wider.get(&variable) {
                Some(form) => form.clone(),
                None => Form::Same(read_variable(head, variable)),
            };
            if objects.fits(&value, &form) {
                continue;
            }
            let coming = objects.form_of(&[&value], true)?;
            let form = objects.widen(&form, &coming)?;
            wider.insert(variable, form);
            changed = true;
        }
    }
    Ok(changed.then_some(wider))
}

/// The forms without variants that were only come upon before, when less was known to vary: in `s = s .. x`, what `"" .. x` is.
pub fn narrower(
    objects: &mut Objects,
    entry: &State,
    forms: &BTreeMap<Variable, Form>,
    back: &[State],
) -> Result<Option<BTreeMap<Variable, Form>>, LowerErrorKind> {
    let variants = |form: &Form| match form {
        Form::Same(_) => 0,
        Form::One(_) => 1,
        Form::Union(variants) => variants.len(),
    };
    let mut narrower = forms.clone();
    for (variable, form) in forms.iter().filter(|(_, form)| variants(form) > 1) {
        let states = std::iter::once(entry).chain(back);
        let values: Vec<Abs> = states.map(|state| read_variable(state, *variable)).collect();
        let met = objects.form_of(&values.iter().collect::<Vec<_>>(), true)?;
        if variants(&met) < variants(form) {
            narrower.insert(*variable, met);
        }
    }
    Ok((narrower != *forms).then_some(narrower))
}
