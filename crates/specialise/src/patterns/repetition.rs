//! Items that match more than once: `*`, `+`, `?`, `-`.

use super::matcher::{Matcher, Outcome, Progress};
use super::parse::{Item, Repeat, Set};
use super::{search, sets};
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};

impl Matcher<'_> {
    /// What follows item `index` surely fails on a byte of `set`: trying shorter matches of the item is no use.
    fn excludes(&self, index: usize, set: &Set) -> bool {
        let mut index = index + 1;
        loop {
            match self.item(index) {
                // Nothing behind can fail: the first path is taken.
                None => return true,
                Some(Item::Open(_) | Item::Position(_) | Item::Close(_)) => index += 1,
                Some(Item::Single(next, Repeat::Once | Repeat::Some)) => return next.is_disjoint(set),
                // It takes none of those bytes, and what is behind it decides.
                Some(Item::Single(next, _)) if next.is_disjoint(set) => index += 1,
                // The end is never before a byte.
                Some(Item::End) => return true,
                _ => return false,
            }
        }
    }

    /// The bytes that what follows item `index` can begin with; `None` where it can match nothing, or what it begins with is not known.
    pub(super) fn beginnings(&self, index: usize) -> Option<Set> {
        let mut begin = Set::EMPTY;
        for item in self.pattern.items.get(index + 1..)? {
            match item {
                Item::Open(_) | Item::Position(_) | Item::Close(_) => {}
                Item::Single(set, Repeat::Once | Repeat::Some) => return Some(begin.union(*set)),
                Item::Single(set, _) => begin = begin.union(*set),
                Item::Balanced(first, _) => {
                    begin.insert(*first);
                    return Some(begin);
                }
                Item::Frontier(_) | Item::BackReference(_) | Item::End => return None,
            }
        }
        None
    }

    /// Matches the items from `index` on within an iteration, which is left where they match. Whether there are paths on
    /// which they do not; the state is the join of those.
    pub(super) fn rest_fails(
        &self,
        context: &mut Context<'_>,
        index: usize,
        words: Progress,
        iteration: &mut Iteration,
    ) -> Result<bool> {
        let rest = self.items(context, index, words, false)?;
        rest.matched.into_iter().for_each(|arm| iteration.leave_in(arm.state, arm.values));
        let mut failed = rest.failed;
        failed.extend(rest.hopeless);
        context.enter(failed)?;
        Ok(context.state.alive())
    }

    /// As many bytes of the set as there are, at most `most`; then the rest, with fewer and fewer of them.
    pub(super) fn greedy(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Progress,
        set: &Set,
        most: Option<i64>,
    ) -> Result<Outcome> {
        let least = words[0];
        let furthest = self.run_of(context, least, set, most)?;
        if self.excludes(index, set) {
            words[0] = furthest;
            return self.items(context, index + 1, words, false);
        }
        let exits = context.repeat(&[furthest], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let mut words = words.clone();
            words[0] = at;
            if self.rest_fails(context, index + 1, words, &mut iteration)? {
                let none = context.compare(CompareOp::SLe, at, least);
                let (none, some) = context.split(none);
                iteration.leave_in(none, vec![]);
                context.state = some;
                let shorter = context.sub(at, 1);
                iteration.again(context, vec![shorter]);
            }
            Ok(iteration)
        })?;
        Ok(Outcome::of(exits))
    }

    /// The position behind the run of bytes of the set at `at`, of at most `most`.
    pub(super) fn run_of(
        &self,
        context: &mut Context<'_>,
        at: Word,
        set: &Set,
        most: Option<i64>,
    ) -> Result<Word> {
        if most == Some(1) {
            let (inside, outside) = self.split_byte(context, at, set)?;
            context.state = inside;
            let next = context.add(at, 1);
            let mut arms = vec![Arm { state: context.take_state(), values: vec![Abs::Int(next)] }];
            arms.extend(outside.into_iter().map(|state| Arm { state, values: vec![Abs::Int(at)] }));
            return context.join_word(arms);
        }
        if *set == Set::ALL {
            return Ok(self.end);
        }
        if most.is_none() && sets::by_words(set) {
            return self.run_by_words(context, at, set);
        }
        let arms = context.repeat(&[at], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let (inside, outside) = self.split_byte(context, at, set)?;
            outside.into_iter().for_each(|state| iteration.leave_in(state, vec![Abs::Int(at)]));
            context.state = inside;
            let next = context.add(at, 1);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        context.join_word(arms)
    }

    /// [`Self::run_of`], looking at 8 bytes in one step.
    fn run_by_words(&self, context: &mut Context<'_>, at: Word, set: &Set) -> Result<Word> {
        let whole = Slice { start: Word::Imm(0), ..self.subject };
        let arms = context.repeat(&[at], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let left = context.sub(self.end, at);
            let over = context.compare(CompareOp::SLe, left, 0);
            let (over, within) = context.split(over);
            iteration.leave_in(over, vec![Abs::Int(self.end)]);
            context.state = within;
            // Behind the end the word has zeros: they end the run at the end, or the next step does.
            let word = context.word_at(whole, at, left)?;
            let outside = sets::marks_outside(context, word, set);
            let none = context.compare(CompareOp::Eq, outside, 0);
            let (none, some) = context.split(none);
            context.state = some;
            let place = search::candidate(context, at, outside);
            iteration.leave(context, vec![Abs::Int(place)]);
            context.state = none;
            let next = context.add(at, 8);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        context.join_word(arms)
    }

    /// As few bytes of the set as the rest allows.
    pub(super) fn lazy(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Progress,
        fixed: bool,
        set: &Set,
    ) -> Result<Outcome> {
        let at = words[0];
        let (captures, literal) = self.text_behind(index);
        if *set == Set::ALL && !literal.is_empty() {
            return self.lazy_until_text(context, index + 1 + captures, words, fixed, &literal);
        }
        if *set == Set::ALL
            && let Some(behind) = self.run_behind(index)
        {
            return self.lazy_until_run(context, (index, behind), words, fixed);
        }
        if self.excludes(index, set) && !self.rest_can_be_empty(index + 1) {
            words[0] = self.run_of(context, at, set, None)?;
            return self.items(context, index + 1, words, false);
        }
        // Bytes that the rest cannot begin with are passed over.
        let passed = self.beginnings(index).map(|begin| begin.complement().intersection(*set));
        let exits = context.repeat(&[at], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = match &passed {
                Some(passed) => self.run_of(context, variables[0], passed, None)?,
                None => variables[0],
            };
            let mut words = words.clone();
            words[0] = at;
            if self.rest_fails(context, index + 1, words, &mut iteration)? {
                let (inside, outside) = self.split_byte(context, at, set)?;
                outside.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
                context.state = inside;
                let next = context.add(at, 1);
                iteration.again(context, vec![next]);
            }
            Ok(iteration)
        })?;
        Ok(Outcome::of(exits))
    }

    /// What follows can match nothing, wherever it is.
    fn rest_can_be_empty(&self, index: usize) -> bool {
        let rest = self.pattern.items.get(index..).unwrap_or_default();
        rest.iter().all(|item| match item {
            Item::Open(_) | Item::Position(_) | Item::Close(_) => true,
            Item::Single(_, repeat) => !matches!(repeat, Repeat::Once | Repeat::Some),
            _ => false,
        })
    }

    /// Nothing but captures follows.
    pub(super) fn rest_is_empty(&self, index: usize) -> bool {
        let rest = self.pattern.items.get(index..).unwrap_or_default();
        rest.iter().all(|item| matches!(item, Item::Open(_) | Item::Position(_) | Item::Close(_)))
    }
}
