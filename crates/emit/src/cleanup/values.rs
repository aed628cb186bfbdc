//! What registers and words of the frame hold at each place, on all paths to it.

use super::blocks::{End, Graph};
use super::parts::{PartSet, Parts};
use super::state::State;
use crate::assemble::CodeWord;
use std::collections::BTreeSet;

/// Bounds may become wider so often before they are given up.
const PATIENCE: usize = 4;

pub struct Values<'a> {
    parts: &'a Parts,
    /// By block, at its start; `None` where no path leads to it.
    entries: Vec<Option<State>>,
    /// The parts of the frame whose addresses are not followed: anything may read and write them.
    pub escaped: PartSet,
}

impl<'a> Values<'a> {
    pub fn find(graph: &Graph, parts: &'a Parts) -> Values<'a> {
        let mut values = Values { parts, entries: Vec::new(), escaped: 0 };
        // What escapes anywhere may be written anywhere: once more with what is known of that.
        loop {
            let escaped = values.escaped;
            values.follow(graph);
            if values.escaped == escaped {
                return values;
            }
        }
    }

    fn follow(&mut self, graph: &Graph) {
        let count = graph.blocks.len();
        self.entries = vec![None; count];
        self.entries[0] = Some(State::at_entry());
        let mut visits = vec![0; count];
        let mut work = BTreeSet::from([0]);
        while let Some(block) = work.pop_first() {
            visits[block] += 1;
            for (to, state) in self.exits(graph, block) {
                let is_wide = visits[block] > PATIENCE;
                if self.enter(to, state, is_wide) {
                    work.insert(to);
                }
            }
        }
    }

    /// Notes that a path leads to a block in that state; whether that is new.
    fn enter(&mut self, block: usize, state: State, is_wide: bool) -> bool {
        let Some(known) = &mut self.entries[block] else {
            self.entries[block] = Some(state);
            return true;
        };
        let before = known.clone();
        self.escaped |= known.join(&state, self.parts, is_wide);
        *known != before
    }

    /// The blocks that follow, with the states in which they are reached.
    fn exits(&mut self, graph: &Graph, block: usize) -> Vec<(usize, State)> {
        let mut escaped = self.escaped;
        let state = self.walk(graph, block, |_, _, _| {}, &mut escaped);
        self.escaped = escaped;
        let Some(state) = state else { return Vec::new() };
        match graph.blocks[block].end {
            End::Return => Vec::new(),
            End::Jump(to) => vec![(to, state)],
            End::Branch { word, to, next } => {
                let taken = state.where_goes(&word.word, true).map(|state| (to, state));
                let other = state.where_goes(&word.word, false).map(|state| (next, state));
                taken.into_iter().chain(other).collect()
            }
        }
    }

    /// Calls `visit` with the index of each word of a block, the word, and what is known before it; gives what is known at the end. `None` if
    /// no path leads there.
    fn walk(
        &self,
        graph: &Graph,
        block: usize,
        mut visit: impl FnMut(usize, &CodeWord, &State),
        escaped: &mut PartSet,
    ) -> Option<State> {
        let mut state = self.entries[block].clone()?;
        let words = &graph.blocks[block].words;
        let mut index = 0;
        while let Some(word) = words.get(index) {
            visit(index, word, &state);
            let next = words.get(index + 1);
            state.step(word, next, self.parts, escaped);
            index += if word.word.is_wide() { 2 } else { 1 };
        }
        Some(state)
    }

    /// The same for everybody else. The second word of an instruction with two is left out.
    pub fn each(
        &self,
        graph: &Graph,
        block: usize,
        visit: impl FnMut(usize, &CodeWord, &State),
    ) -> Option<State> {
        self.walk(graph, block, visit, &mut self.escaped.clone())
    }

    /// Goes on by some words from a state.
    pub fn advance(&self, state: &mut State, words: &[CodeWord]) {
        for (index, word) in words.iter().enumerate() {
            if index == 0 || !words[index - 1].word.is_wide() {
                state.step(word, words.get(index + 1), self.parts, &mut self.escaped.clone());
            }
        }
    }
}
