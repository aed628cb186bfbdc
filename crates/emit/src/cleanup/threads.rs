//! Jumps to a branch that goes one way for those who come from here go where it leads.

use super::blocks::{Block, End, Graph};
use super::state::State;
use super::values::Values;
use crate::assemble::CodeWord;
use crate::isa::class;

/// Words that may stand a second time for each jump, at most.
const COPIED: usize = 6;

/// Blocks on the way, at most.
const STEPS: usize = 4;

/// Whether anything is new.
pub fn run(graph: &mut Graph, values: &Values) -> bool {
    let mut is_changed = false;
    let own = graph.blocks.len();
    for index in 0..own {
        let Some(state) = values.each(graph, index, |_, _, _| {}) else { continue };
        let last = graph.blocks[index].last;
        match graph.blocks[index].end {
            End::Return => {}
            End::Jump(to) => {
                if let Some((words, end)) = way(graph, values, to, state) {
                    let block = &mut graph.blocks[index];
                    block.words.extend(words);
                    block.end = End::Jump(end);
                    is_changed = true;
                }
            }
            End::Branch { word, to, next } => {
                let mut side = |to: usize, is_taken: bool| {
                    let state = state.where_goes(&word.word, is_taken)?;
                    let (words, end) = way(graph, values, to, state)?;
                    Some(added(graph, own, Block { words, end: End::Jump(end), last }))
                };
                let (new_to, new_next) = (side(to, true), side(next, false));
                is_changed |= new_to.is_some() || new_next.is_some();
                let (to, next) = (new_to.unwrap_or(to), new_next.unwrap_or(next));
                graph.blocks[index].end = End::Branch { word, to, next };
            }
        }
    }
    is_changed
}

/// The number of a block that does the same as that one, of those from `first` on. There is one then.
fn added(graph: &mut Graph, first: usize, block: Block) -> usize {
    let is_same = |other: &Block| {
        let words = || block.words.iter().zip(&other.words);
        let is_same_word = |(a, b): (&CodeWord, &CodeWord)| (a.word, a.reference) == (b.word, b.reference);
        block.words.len() == other.words.len() && words().all(is_same_word) && block.end == other.end
    };
    let known = graph.blocks[first..].iter().position(is_same);
    known.map_or_else(
        || {
            graph.blocks.push(block.clone());
            graph.blocks.len() - 1
        },
        |position| first + position,
    )
}

/// The words up to the first branch, if it goes one way from here, and where that leads.
fn way(graph: &Graph, values: &Values, from: usize, mut state: State) -> Option<(Vec<CodeWord>, usize)> {
    let (mut words, mut at) = (Vec::new(), from);
    for _ in 0..STEPS {
        let block = graph.blocks.get(at)?;
        if words.len() + block.words.len() > COPIED || !block.words.iter().all(is_computation) {
            return None;
        }
        values.advance(&mut state, &block.words);
        words.extend(&block.words);
        match block.end {
            End::Return => return None,
            End::Jump(to) => at = to,
            End::Branch { word, to, next } => {
                return match (state.where_goes(&word.word, true), state.where_goes(&word.word, false)) {
                    (None, Some(_)) => Some((words, next)),
                    (Some(_), None) => Some((words, to)),
                    _ => None,
                };
            }
        }
    }
    None
}

/// Changes registers only.
fn is_computation(word: &CodeWord) -> bool {
    matches!(word.word.class(), class::ALU | class::ALU64 | class::LDX)
}
