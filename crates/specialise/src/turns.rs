//! What passes from one turn of a script's loop to the next.

use crate::cases::is_text_in;
use crate::context::Context;
use crate::paths::{Form, Variable, read_variable};
use crate::state::State;
use crate::stored::known::Stored;
use crate::value::Space;
use moonhook_ir as ir;
use moonhook_ir::words::Words;
use std::collections::BTreeMap;

impl Context<'_> {
    /// What is passed to the loop's head. Addresses of entries are passed as they are: the verifier walks the loop once more for
    /// each kind of thing that such a variable holds, an address or 0.
    pub fn loop_arguments(&mut self, forms: &BTreeMap<Variable, Form>) -> Vec<ir::Value> {
        let (mut words, mut addresses) = (Vec::new(), Vec::new());
        for (variable, form) in forms {
            let value = read_variable(&self.state, *variable);
            addresses.extend(form.address().map(|word| words.len() + word));
            words.extend(self.encode(&value, form));
        }
        let numbers = (0..words.len()).filter(|at| !addresses.contains(at));
        let numbers: Vec<usize> = numbers.collect();
        let laundered = self.launder(&numbers.iter().map(|at| words[*at]).collect::<Vec<_>>());
        for (at, word) in numbers.into_iter().zip(laundered) {
            words[at] = word;
        }
        words.into_iter().map(|word| self.value(word)).collect()
    }
}

/// The memory of strings that a turn has made is free again where nothing that the next turn can reach holds one.
pub fn give_back_strings(stored: &Stored, head: &State, state: &mut State) {
    if stored.holds_strings() {
        return;
    }
    let registers = (0..state.registers.len()).map(Variable::Register);
    let mut variables = registers.chain(head.cells.keys().map(|cell| Variable::Cell(*cell)));
    let kept = |variable: Variable| {
        let value = read_variable(state, variable);
        is_text_in(&value, Space::Scratch) && value != read_variable(head, variable)
    };
    if !variables.any(kept) {
        state.scratch = head.scratch;
    }
}
