//! Compact code: functions that are too long for instructions of their own are interpreted.
//!
//! General code takes the verifier some twenty instructions for one of bytecode, of the million that a program may have, and a single
//! path through it can leave 8192 others open (`BPF_COMPLEXITY_LIMIT_JMP_SEQ`). What an interpreter takes does not grow with the
//! script: a function becomes records in the image ([`record`], made by [`encode`]), which one subprogram goes through
//! ([`interpreter`], [`steps`]). Frames, sites and statuses are those of all general code, so that interpreted functions and others
//! call one another. A site of an interpreted function has the address of the record where execution goes on.

mod encode;
mod interpreter;
mod record;
mod steps;

pub use encode::encode;
pub use interpreter::make as make_interpreter;
pub use record::Step;

use super::reach::Reach;
use super::script::Functions;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Instructions of bytecode in a function that is not interpreted, at most.
const LONGEST: usize = 2000;

/// The same of all such functions together.
const MOST: usize = 15_000;

/// The functions that are interpreted: all that are too long, and the longest others until the rest is few enough.
pub fn choose(functions: &Functions<'_>, reach: &Reach, all: bool) -> BTreeSet<usize> {
    let length = |function: &usize| functions.get(*function).code.len();
    // Functions of the library have names for what is not to be seen by scripts, and are short.
    let mut of_script: Vec<usize> =
        reach.functions.iter().copied().filter(|function| !functions.is_hidden(*function)).collect();
    of_script.sort_by_key(|function| Reverse(length(function)));
    let mut left: usize = of_script.iter().map(length).sum();
    let mut chosen = BTreeSet::new();
    for function in of_script {
        let length = length(&function);
        if !all && length <= LONGEST && left <= MOST {
            break;
        }
        left -= length;
        chosen.insert(function);
    }
    chosen
}
