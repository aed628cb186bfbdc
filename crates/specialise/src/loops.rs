//! Loops of the compiler's own routines: copying, comparing, searching.

use crate::context::{Context, Result};
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{self, Path, PathState, Words};

/// What makes a loop's body, given its variables.
type Body<'b, C, V> = dyn FnMut(&mut C, &[Word]) -> words::Turn<C, V> + 'b;

/// The paths out of one iteration, each with values.
pub type Iteration = words::Iteration<State, Vec<Abs>>;

impl Context<'_> {
    /// A loop over machine words. `body` is run once, in the state at the start of any iteration, with the loop's
    /// variables. Each iteration costs a step of the budget. Gives the paths out; the current state is dead afterwards.
    pub fn repeat<V>(
        &mut self,
        initial: &[Word],
        body: &mut Body<'_, Self, V>,
    ) -> Result<Vec<Path<State, V>>> {
        if !self.state.alive() {
            return Ok(vec![]);
        }
        let metered = self.metered();
        let budget = |context: &Self| metered.then_some(context.state.budget);
        let words: Vec<Word> = budget(self).into_iter().chain(initial.iter().copied()).collect();
        let words = self.launder(&words);
        let args: Vec<_> = words.into_iter().map(|word| self.value(word)).collect();
        let outer = std::mem::replace(&mut self.code.loop_start, self.code.function.value_count);
        let head = self.code.function.new_block();
        let mut params = Vec::with_capacity(args.len());
        for _ in 0..args.len() {
            let param = self.code.function.add_param(head);
            self.set_range(param, moonhook_ir::words::Range::FULL);
            params.push(Word::Value(param));
        }
        self.terminate(ir::Terminator::Jump(ir::Target::new(head, args)));
        self.state.block = Some(head);
        if metered {
            self.state.budget = params.remove(0);
        }
        self.spend_step()?;
        let iteration = body(self, &params)?;
        self.code.loop_start = outer;
        for (state, variables) in iteration.next {
            self.state = state;
            let words: Vec<Word> = budget(self).into_iter().chain(variables).collect();
            let words = self.launder(&words);
            let args = words.into_iter().map(|word| self.value(word)).collect();
            self.terminate(ir::Terminator::Jump(ir::Target::new(head, args)));
        }
        self.state.block = None;
        Ok(iteration.exits.into_iter().filter(|arm| arm.state.alive()).collect())
    }
}
