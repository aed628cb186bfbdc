//! What operators and functions of numbers give, by what their operands turn out to be.

use super::Kinds;
use super::graph::{Held, Node};
use moonhook_specialise::shared::{Seen, SeenType};

/// What comes of operands that are no objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Result {
    Kind(SeenType),
    /// A number: a float where one of the operands is one, else an integer (Lua manual § 3.4.1).
    Number,
}

impl Result {
    /// What an operator's event gives where its operands are numbers.
    pub fn of_event(event: &str) -> Result {
        match event {
            "__div" | "__pow" => Result::Kind(SeenType::Float),
            "__add" | "__sub" | "__mul" | "__mod" | "__idiv" | "__unm" => Result::Number,
            _ => Result::Kind(SeenType::Integer),
        }
    }
}

impl Kinds<'_, '_> {
    /// Operands that are numbers or strings, so many of them at least, or of which nothing is known, give what operators usually give.
    /// Says whether that is something new.
    pub(super) fn usual_results(&mut self, least: usize) -> bool {
        let mut new = false;
        for (operands, result, to) in std::mem::take(&mut self.later.results) {
            let held = || operands.iter().map(|operand| self.graph.held(*operand));
            let is_plain = |held: &Held| held.is_empty() || !held.seen.is_empty();
            let known = held().filter(|held| !held.is_empty()).count();
            let is_given = known >= least.min(operands.len()) && held().all(is_plain);
            let given = match result {
                Result::Kind(kind) => Seen::kind(kind),
                Result::Number => number_of(held()),
            };
            let waits = !is_given || result == Result::Number;
            if is_given {
                new |= self.graph.give_more(to, &given.into());
            }
            // What numbers are may turn out later.
            if waits {
                self.later.results.push((operands, result, to));
            }
        }
        new
    }

    /// A place that is given what a number made of operands is.
    pub(super) fn number_from(&mut self, operands: Vec<Node>, to: Node) {
        self.later.results.push((operands, Result::Number, to));
    }
}

fn number_of<'h>(operands: impl Iterator<Item = &'h Held>) -> Seen {
    let (mut floats, mut only_floats) = (false, false);
    for held in operands {
        let has_float = held.seen.kinds().any(|kind| kind == SeenType::Float);
        floats |= has_float;
        only_floats |= has_float && held.seen.kinds().count() == 1;
    }
    match (floats, only_floats) {
        (false, _) => Seen::kind(SeenType::Integer),
        (true, true) => Seen::kind(SeenType::Float),
        (true, false) => Seen::kind(SeenType::Integer).with(SeenType::Float),
    }
}
