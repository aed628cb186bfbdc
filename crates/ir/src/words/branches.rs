//! Control flow while a function is made: each path through the code has a state of its own, and paths that meet are joined.

use super::{Cond, Word, Words};
use crate::{Block, CompareOp, Target, Terminator};

/// What is known on one path through the code.
pub trait PathState: Clone {
    /// Where code is being appended; `None` after code that does not go on (an error).
    fn block(&self) -> Option<Block>;

    fn set_block(&mut self, block: Option<Block>);

    fn alive(&self) -> bool {
        self.block().is_some()
    }
}

/// One of the paths that meet, and what it brings along.
#[derive(Clone, Debug)]
pub struct Path<S, V> {
    pub state: S,
    pub values: V,
}

/// The paths out of one iteration of a loop.
pub struct Iteration<S, V> {
    /// States that go on with the next iteration, and its variables.
    pub next: Vec<(S, Vec<Word>)>,
    /// States that leave the loop.
    pub exits: Vec<Path<S, V>>,
}

impl<S, V> Default for Iteration<S, V> {
    fn default() -> Self {
        Iteration { next: Vec::new(), exits: Vec::new() }
    }
}

impl<S, V> Iteration<S, V> {
    /// The current state goes on with the next iteration.
    pub fn again<B: Branches<State = S>>(&mut self, branches: &mut B, variables: Vec<Word>) {
        self.next.push((branches.take_state(), variables));
    }

    /// The current state leaves.
    pub fn leave<B: Branches<State = S>>(&mut self, branches: &mut B, values: V) {
        self.leave_in(branches.take_state(), values);
    }

    pub fn leave_in(&mut self, state: S, values: V) {
        self.exits.push(Path { state, values });
    }
}

/// What making a loop's body gives: the paths out of an iteration.
pub type Turn<B, V = Vec<Word>> = Result<Iteration<<B as Branches>::State, V>, <B as Branches>::Stop>;

/// Paths that bring words along.
pub type WordPaths<B> = Vec<Path<<B as Branches>::State, Vec<Word>>>;

/// Who makes code for several paths, one after the other. The current state says which one is being made.
pub trait Branches: Words + Sized {
    type State: PathState;
    /// Why making code ends early.
    type Stop;

    fn state(&self) -> &Self::State;

    fn state_mut(&mut self) -> &mut Self::State;

    /// Joins paths; each brings as many words, what they are afterwards is given. `None` (and a dead state) if no path is alive.
    fn meet(&mut self, paths: WordPaths<Self>) -> Result<Option<Vec<Word>>, Self::Stop>;

    /// A loop over machine words. `body` is run once, in the state at the start of any iteration, with the loop's
    /// variables. Gives the paths out; the current state is dead afterwards.
    fn iterate(
        &mut self,
        initial: &[Word],
        body: &mut dyn FnMut(&mut Self, &[Word]) -> Turn<Self>,
    ) -> Result<WordPaths<Self>, Self::Stop>;

    fn alive(&self) -> bool {
        self.state().alive()
    }

    /// Goes on in that state.
    fn resume(&mut self, state: Self::State) {
        *self.state_mut() = state;
    }

    /// Splits on `cond`: the states in which it holds and in which it does not. Either may be dead. The current state is
    /// used up.
    fn split(&mut self, cond: Cond) -> (Self::State, Self::State) {
        let mut then = self.state().clone();
        let mut otherwise = self.state().clone();
        match cond {
            Cond::Known(true) => otherwise.set_block(None),
            Cond::Known(false) => then.set_block(None),
            Cond::Test(condition) if self.alive() => {
                let function = &mut self.code_mut().function;
                let (a, b) = (function.new_block(), function.new_block());
                let target = |block| Target::new(block, vec![]);
                self.terminate(Terminator::Branch { condition, then: target(a), otherwise: target(b) });
                then.set_block(Some(a));
                otherwise.set_block(Some(b));
            }
            Cond::Test(_) => {}
        }
        self.state_mut().set_block(None);
        (then, otherwise)
    }

    /// Runs `fail` (which must end the state) where `cond` holds and goes on where it does not.
    fn fail_if(&mut self, cond: Cond, fail: impl FnOnce(&mut Self)) {
        if cond == Cond::Known(false) {
            return;
        }
        let (then, otherwise) = self.split(cond);
        self.resume(then);
        if self.alive() {
            if cond != Cond::Known(true) {
                self.make_cold();
            }
            fail(self);
        }
        self.resume(otherwise);
    }

    /// Few packets come to the current block.
    fn make_cold(&mut self) {
        if let Some(block) = self.state().block() {
            self.code_mut().function.block_mut(block).cold = true;
        }
    }

    /// Takes the current state, leaving a dead one.
    fn take_state(&mut self) -> Self::State {
        let mut dead = self.state().clone();
        dead.set_block(None);
        std::mem::replace(self.state_mut(), dead)
    }

    /// Leaves, to `outside`, where `cond` holds.
    fn leave_if(&mut self, cond: Cond, outside: &mut Vec<Self::State>) {
        let (then, otherwise) = self.split(cond);
        if then.alive() {
            outside.push(then);
        }
        self.resume(otherwise);
    }

    /// Enters the join of `states` (dead if there are none), all of which carry nothing else.
    fn enter(&mut self, states: Vec<Self::State>) -> Result<(), Self::Stop> {
        let paths = states.into_iter().map(|state| Path { state, values: vec![] }).collect();
        self.meet(paths)?;
        Ok(())
    }

    /// Runs `fail` in the join of `states` and comes back to the current state.
    fn fail_in(
        &mut self,
        states: Vec<Self::State>,
        fail: impl FnOnce(&mut Self) -> Result<(), Self::Stop>,
    ) -> Result<(), Self::Stop> {
        if states.is_empty() {
            return Ok(());
        }
        let inside = self.take_state();
        for block in states.iter().filter_map(PathState::block) {
            if inside.alive() {
                self.code_mut().function.block_mut(block).cold = true;
            }
        }
        self.enter(states)?;
        fail(self)?;
        self.resume(inside);
        Ok(())
    }

    /// The current state as a path that brings `values`; a dead one is left.
    fn take_path<V>(&mut self, values: V) -> Path<Self::State, V> {
        Path { state: self.take_state(), values }
    }

    /// Joins paths of which each brings one word; 0 if none is alive.
    fn meet_word(&mut self, paths: WordPaths<Self>) -> Result<Word, Self::Stop> {
        let words = self.meet(paths)?;
        Ok(words.and_then(|words| words.first().copied()).unwrap_or(Word::Imm(0)))
    }

    /// Joins two paths, each with its number.
    fn either(
        &mut self,
        then: Self::State,
        yes: Word,
        otherwise: Self::State,
        no: Word,
    ) -> Result<Word, Self::Stop> {
        let paths =
            vec![Path { state: then, values: vec![yes] }, Path { state: otherwise, values: vec![no] }];
        let words = self.meet(paths)?;
        Ok(words.and_then(|words| words.first().copied()).unwrap_or(no))
    }

    /// The smaller of two numbers.
    fn minimum(&mut self, a: Word, b: Word) -> Result<Word, Self::Stop> {
        let less = self.compare(CompareOp::SLt, a, b);
        let (then, otherwise) = self.split(less);
        self.either(then, a, otherwise, b)
    }

    /// The larger of two numbers.
    fn maximum(&mut self, a: Word, b: Word) -> Result<Word, Self::Stop> {
        let less = self.compare(CompareOp::SLt, a, b);
        let (then, otherwise) = self.split(less);
        self.either(then, b, otherwise, a)
    }
}
