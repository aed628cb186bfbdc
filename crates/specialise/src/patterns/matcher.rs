//! Code that matches one pattern.
//!
//! Each item's code stands once: an item that can match in several ways is a loop around the code for the items behind it.
//! Where no other way can succeed — what follows cannot start with a byte that the item would have given back, or cannot
//! fail — there is no such loop.

use super::parse::{Item, Pattern, Repeat, Set};
use super::search;
use super::sets::split_set;
use super::text::Text;
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{CompareOp, Size};

/// Where matching stands: the position in the subject's space, then start and length of each capture.
pub(super) type Progress = Vec<Word>;

/// The paths that a match takes.
#[derive(Default)]
pub(super) struct Outcome {
    /// Each with the words at the end of the pattern.
    pub matched: Vec<Arm>,
    pub failed: Vec<State>,
    /// Failed so that no later start can succeed either.
    pub hopeless: Vec<State>,
}

impl Outcome {
    /// Of the exits of a loop: those that carry nothing failed.
    pub fn of(exits: Vec<Arm>) -> Outcome {
        let (failed, matched): (Vec<Arm>, Vec<Arm>) =
            exits.into_iter().partition(|arm| arm.values.is_empty());
        Outcome { matched, failed: failed.into_iter().map(|arm| arm.state).collect(), hopeless: Vec::new() }
    }
}

/// A match: the state, where it starts and ends, and start and length of each capture (of a position: start only).
pub struct Match {
    pub state: State,
    pub start: Word,
    pub end: Word,
    pub captures: Vec<(Word, Word)>,
}

pub(super) struct Matcher<'p> {
    pub pattern: &'p Pattern,
    pub subject: Slice,
    pub end: Word,
}

/// Matches at `from` (a position of the subject's space) or, unless the pattern is anchored, at the first later position
/// where it matches. Uses up the current state; gives the match and the states without one.
pub fn run(
    context: &mut Context<'_>,
    pattern: &Pattern,
    subject: Slice,
    from: Word,
) -> Result<(Option<Match>, Vec<State>)> {
    let end = context.add(subject.start, subject.length);
    let matcher = Matcher { pattern, subject, end };
    let (mut arms, mut failed) = (Vec::new(), Vec::new());
    let prefix = matcher.literal(0);
    if pattern.anchored {
        let outcome = matcher.items(context, 0, matcher.initial(from), true)?;
        arms.extend(outcome.matched.into_iter().map(|arm| with_start(arm, from)));
        failed.extend(outcome.failed);
        failed.extend(outcome.hopeless);
    } else {
        let exits = context
            .repeat(&[from], &mut |context, variables| matcher.each_start(context, variables[0], &prefix))?;
        for arm in exits {
            if arm.values.is_empty() { failed.push(arm.state) } else { arms.push(arm) }
        }
    }
    Ok((join_matches(context, arms)?, failed))
}

/// The match in which paths meet, each with the words of its match: start, end, and those of the captures.
pub fn join_matches(context: &mut Context<'_>, arms: Vec<Arm>) -> Result<Option<Match>> {
    let Some(values) = context.join(arms)? else { return Ok(None) };
    let words: Progress =
        values.iter().map(|v| if let Abs::Int(word) = v { *word } else { Word::Imm(0) }).collect();
    let captures = words[2..].chunks(2).map(|pair| (pair[0], pair[1])).collect();
    Ok(Some(Match { state: context.take_state(), start: words[0], end: words[1], captures }))
}

fn with_start(mut arm: Arm, start: Word) -> Arm {
    arm.values.insert(0, Abs::Int(start));
    arm
}

impl Matcher<'_> {
    fn initial(&self, position: Word) -> Progress {
        let mut words = vec![position];
        words.resize(1 + 2 * self.pattern.captures.len(), Word::Imm(0));
        words
    }

    pub(super) fn item(&self, index: usize) -> Option<&Item> {
        self.pattern.items.get(index)
    }

    /// The text that the items from `index` on start with.
    pub(super) fn literal(&self, index: usize) -> Text {
        Text::at_start_of(self.pattern.items.get(index..).unwrap_or_default())
    }

    /// One round of the search for a start.
    fn each_start(&self, context: &mut Context<'_>, start: Word, prefix: &Text) -> Result<Iteration> {
        let mut iteration = Iteration::default();
        let mut start = start;
        let mut words = self.initial(start);
        if !prefix.is_empty() {
            let (found, missing) = search::find(context, self.subject, start, prefix)?;
            missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
            let Some((state, place)) = found else { return Ok(iteration) };
            context.state = state;
            start = place;
            words[0] = context.add(place, prefix.len() as i64);
        }
        let outcome = self.items(context, prefix.len(), words, true)?;
        for arm in outcome.matched {
            let arm = with_start(arm, start);
            iteration.leave_in(arm.state, arm.values);
        }
        outcome.hopeless.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        context.enter(outcome.failed)?;
        if context.state.alive() {
            let next = context.add(start, 1);
            let over = context.compare(CompareOp::SGt, next, self.end);
            let (over, more) = context.split(over);
            iteration.leave_in(over, vec![]);
            context.state = more;
            iteration.again(context, vec![next]);
        }
        Ok(iteration)
    }

    /// Matches the items from `index` on, in the current state. `fixed`: all items before took a number of bytes that is
    /// the same for every start.
    pub(super) fn items(
        &self,
        context: &mut Context<'_>,
        index: usize,
        words: Progress,
        fixed: bool,
    ) -> Result<Outcome> {
        if !context.state.alive() {
            return Ok(Outcome::default());
        }
        let literal = self.literal(index);
        if literal.len() > 1 {
            return self.literal_items(context, index, words, fixed, &literal);
        }
        let at = words[0];
        match self.item(index) {
            None => {
                let state = context.take_state();
                let values = words.into_iter().map(Abs::Int).collect();
                Ok(Outcome { matched: vec![Arm { state, values }], ..Outcome::default() })
            }
            Some(Item::Open(number) | Item::Position(number)) => {
                let mut words = words;
                words[1 + 2 * number] = at;
                self.items(context, index + 1, words, fixed)
            }
            Some(Item::Close(number)) => {
                let mut words = words;
                words[2 + 2 * number] = context.sub(at, words[1 + 2 * number]);
                self.items(context, index + 1, words, fixed)
            }
            Some(Item::End) => {
                let more = context.compare(CompareOp::Ne, at, self.end);
                self.unless(context, more, |context| self.items(context, index + 1, words, fixed))
            }
            Some(Item::Single(set, repeat)) => self.single(context, index, words, fixed, set, *repeat),
            Some(Item::Frontier(set)) => self.frontier(context, index, words, fixed, set),
            Some(Item::Balanced(first, last)) => self.balanced(context, index, words, *first, *last),
            Some(Item::BackReference(number)) => self.back_reference(context, index, words, *number),
        }
    }

    /// Fails where `cond` holds; goes on with `rest` where it does not.
    fn unless(
        &self,
        context: &mut Context<'_>,
        cond: Cond,
        rest: impl FnOnce(&mut Context<'_>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let (fails, goes) = context.split(cond);
        context.state = goes;
        let mut outcome = rest(context)?;
        outcome.failed.push(fails);
        Ok(outcome)
    }

    fn literal_items(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Progress,
        fixed: bool,
        literal: &Text,
    ) -> Result<Outcome> {
        let at = words[0];
        let left = context.sub(self.end, at);
        let short = context.compare(CompareOp::SLt, left, literal.len() as i64);
        self.unless(context, short, |context| {
            let mut failed = Vec::new();
            let here = Slice { start: at, ..self.subject };
            context.match_letters(here, &literal.bytes, &literal.either, &mut failed)?;
            words[0] = context.add(at, literal.len() as i64);
            let mut outcome = self.items(context, index + literal.len(), words, fixed)?;
            outcome.failed.extend(failed);
            Ok(outcome)
        })
    }

    /// Splits the current state: where the byte at `at` exists and is in the set, and the others.
    pub(super) fn split_byte(
        &self,
        context: &mut Context<'_>,
        at: Word,
        set: &Set,
    ) -> Result<(State, Vec<State>)> {
        let over = context.compare(CompareOp::SGe, at, self.end);
        let (over, within) = context.split(over);
        context.state = within;
        if *set == Set::ALL || !context.state.alive() {
            return Ok((context.take_state(), vec![over]));
        }
        let byte = self.byte(context, at)?;
        let (inside, outside) = split_set(context, byte, set)?;
        Ok((inside, vec![over, outside]))
    }

    pub(super) fn byte(&self, context: &mut Context<'_>, at: Word) -> Result<Word> {
        let address = context.address(self.subject.space, at, 1)?;
        Ok(context.load_at(address, Size::B1, false))
    }

    fn single(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Progress,
        fixed: bool,
        set: &Set,
        repeat: Repeat,
    ) -> Result<Outcome> {
        let at = words[0];
        match repeat {
            Repeat::Once => {
                let (inside, failed) = self.split_byte(context, at, set)?;
                context.state = inside;
                words[0] = context.add(at, 1);
                let mut outcome = self.items(context, index + 1, words, fixed)?;
                outcome.failed.extend(failed);
                Ok(outcome)
            }
            Repeat::Some => {
                let (inside, failed) = self.split_byte(context, at, set)?;
                context.state = inside;
                words[0] = context.add(at, 1);
                let mut outcome = self.greedy(context, index, words, set, None)?;
                outcome.failed.extend(failed);
                Ok(outcome)
            }
            Repeat::Any => self.greedy(context, index, words, set, None),
            Repeat::Optional => self.greedy(context, index, words, set, Some(1)),
            Repeat::Lazy => self.lazy(context, index, words, fixed, set),
        }
    }
}
