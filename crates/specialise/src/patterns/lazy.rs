//! What matches as little as it can before something that is looked for: `.-` and text, or a run.

use super::matcher::{Matcher, Outcome, Progress};
use super::parse::{Item, Repeat, Set};
use super::text::Text;
use super::{search, sets};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};

impl Matcher<'_> {
    /// The item behind captures' ends at `index`, if it is a run (`[ \t]*`) that takes all the bytes that it can, and a byte follows that is
    /// none of them.
    pub(super) fn run_behind(&self, index: usize) -> Option<usize> {
        let items = self.pattern.items.get(index + 1..)?;
        let ends = items.iter().take_while(|item| matches!(item, Item::Close(_))).count();
        let run = index + 1 + ends;
        let Some(Item::Single(set, Repeat::Any)) = self.item(run) else { return None };
        let rest = &self.pattern.items[run + 1..];
        let is_apart = self.beginnings(run)?.is_disjoint(set);
        (is_apart && !rest.iter().any(|item| matches!(item, Item::BackReference(_)))).then_some(run)
    }

    /// `.-`, captures' ends, and a run as [`Self::run_behind`] has it: what follows the run is looked for, and the run is what of its bytes
    /// stands before that. Where that is found first, the run begins first as well.
    pub(super) fn lazy_until_run(
        &self,
        context: &mut Context<'_>,
        (index, run): (usize, usize),
        words: Progress,
        fixed: bool,
    ) -> Result<Outcome> {
        let at = words[0];
        let passed = self.beginnings(run).unwrap_or(Set::ALL).complement();
        let exits = context.repeat(&[at], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let end = self.run_of(context, variables[0], &passed, None)?;
            let mut words = words.clone();
            words[0] = end;
            // Where the run ends goes along.
            words.push(end);
            if self.rest_fails(context, run + 1, words, &mut iteration)? {
                let over = context.compare(CompareOp::SGe, end, self.end);
                let (over, more) = context.split(over);
                iteration.leave_in(over, vec![]);
                context.state = more;
                let next = context.add(end, 1);
                iteration.again(context, vec![next]);
            }
            Ok(iteration)
        })?;
        let Outcome { matched, failed, .. } = Outcome::of(exits);
        let mut outcome = Outcome::default();
        // What follows the run is not behind this position, so it is not behind a later one either.
        if fixed {
            outcome.hopeless = failed
        } else {
            outcome.failed = failed
        }
        let Some(mut values) = context.join(matched)? else { return Ok(outcome) };
        if let (Some(Abs::Int(end)), Some(Item::Single(set, _))) = (values.pop(), self.item(run)) {
            let start = self.run_before(context, end, at, set)?;
            for item in &self.pattern.items[index + 1..run] {
                let Item::Close(number) = item else { continue };
                if let Abs::Int(capture) = values[1 + 2 * number] {
                    values[2 + 2 * number] = Abs::Int(context.sub(start, capture));
                }
            }
        }
        outcome.matched.push(Arm { state: context.take_state(), values });
        Ok(outcome)
    }

    /// Where the run of bytes of the set begins that ends at `end`; not before `least`.
    pub(super) fn run_before(
        &self,
        context: &mut Context<'_>,
        end: Word,
        least: Word,
        set: &Set,
    ) -> Result<Word> {
        let arms = context.repeat(&[end], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let first = context.compare(CompareOp::SLe, at, least);
            let (first, later) = context.split(first);
            iteration.leave_in(first, vec![Abs::Int(at)]);
            context.state = later;
            let before = context.sub(at, 1);
            let byte = self.byte(context, before)?;
            let (inside, outside) = sets::split_set(context, byte, set)?;
            iteration.leave_in(outside, vec![Abs::Int(at)]);
            context.state = inside;
            iteration.again(context, vec![before]);
            Ok(iteration)
        })?;
        context.join_word(arms)
    }

    /// How many captures' ends stand behind item `index`, and the literal text that follows them.
    pub(super) fn text_behind(&self, index: usize) -> (usize, Text) {
        let items = self.pattern.items.get(index + 1..).unwrap_or_default();
        let captures = items.iter().take_while(|item| matches!(item, Item::Close(_))).count();
        (captures, self.literal(index + 1 + captures))
    }

    /// `.-` and then literal text, at item `text_index`: search for the text. Captures that end between the two end where
    /// the text starts.
    pub(super) fn lazy_until_text(
        &self,
        context: &mut Context<'_>,
        text_index: usize,
        words: Progress,
        fixed: bool,
        literal: &Text,
    ) -> Result<Outcome> {
        let behind = text_index + literal.len();
        let ends = self.pattern.items[..text_index].iter().rev().map_while(|item| match item {
            Item::Close(number) => Some(*number),
            _ => None,
        });
        let ends: Vec<usize> = ends.collect();
        let matched_at = |context: &mut Context<'_>, place: Word| {
            let mut words = words.clone();
            for number in &ends {
                words[2 + 2 * number] = context.sub(place, words[1 + 2 * number]);
            }
            words[0] = context.add(place, literal.len() as i64);
            words
        };
        let mut outcome = Outcome::default();
        let missing = |outcome: &mut Outcome, states: Vec<State>| {
            // The text is not behind this position, so it is not behind a later one either.
            if fixed { outcome.hopeless.extend(states) } else { outcome.failed.extend(states) }
        };
        if self.rest_is_empty(behind) {
            let (found, absent) = search::find(context, self.subject, words[0], literal)?;
            missing(&mut outcome, absent);
            if let Some((state, place)) = found {
                context.state = state;
                let words = matched_at(context, place);
                let rest = self.items(context, behind, words, false)?;
                outcome.matched.extend(rest.matched);
            }
            return Ok(outcome);
        }
        let exits = context.repeat(&[words[0]], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let (found, absent) = search::find(context, self.subject, variables[0], literal)?;
            absent.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
            let Some((state, place)) = found else { return Ok(iteration) };
            context.state = state;
            let words = matched_at(context, place);
            if self.rest_fails(context, behind, words, &mut iteration)? {
                let next = context.add(place, 1);
                iteration.again(context, vec![next]);
            }
            Ok(iteration)
        })?;
        for arm in exits {
            if arm.values.is_empty() {
                missing(&mut outcome, vec![arm.state])
            } else {
                outcome.matched.push(arm)
            }
        }
        Ok(outcome)
    }
}
