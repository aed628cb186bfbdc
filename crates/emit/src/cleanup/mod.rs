//! What is left over when functions that another compiler has made have taken the places of their calls.
//!
//! They are given arguments that they do not read, or numbers that they could have been made for; what they give is a number that is compared
//! at once; what they write, nobody may read. So: numbers and addresses of the frame are followed through the words ([`values`]), words that give
//! a known number become that number and branches that always go one way are jumps ([`rewrite`]), jumps to such branches go where those lead
//! ([`threads`]), and what nobody reads is not computed ([`dead`]).
//!
//! Only what the kernel's verifier follows too is used, for checks that it needs must stay.

mod blocks;
mod bounds;
mod dead;
mod parts;
mod rewrite;
mod state;
#[cfg(test)]
mod tests;
mod threads;
mod values;

use crate::program::Code;
use blocks::Graph;
use parts::Parts;
use values::Values;

/// What one round makes known, the next one uses.
const ROUNDS: usize = 4;

/// Less code that does the same; `None` if there is none, or if it is code that this does not know.
pub fn run(code: &Code) -> Option<Code> {
    let parts = Parts::of(code)?;
    let mut graph = Graph::of(&code.words)?;
    for _ in 0..ROUNDS {
        let values = Values::find(&graph, &parts);
        let mut is_changed = rewrite::run(&mut graph, &values);
        // Positions in the blocks are others now, and nothing else.
        let values = Values::find(&graph, &parts);
        is_changed |= threads::run(&mut graph, &values);
        let values = Values::find(&graph, &parts);
        is_changed |= dead::run(&mut graph, &values, &parts);
        graph.merge();
        if !is_changed {
            break;
        }
    }
    let words = graph.join()?;
    (words.len() <= code.words.len()).then(|| Code { words, ..code.clone() })
}
