//! Code that matches one pattern.
//!
//! Each item's code stands once: an item that can match in several ways is a loop around the code for the items behind it.
//! Where no other way can succeed — what follows cannot start with a byte that the item would have given back, or cannot
//! fail — there is no such loop.

use super::parse::{Item, Pattern, Repeat, Set};
use super::search;
use crate::code::Cond;
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::loops::Iteration;
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// Where matching stands: the position in the subject's space, then start and length of each capture.
type Words = Vec<Word>;

/// The ways a match goes.
#[derive(Default)]
struct Outcome {
    /// Each with the words at the end of the pattern.
    matched: Vec<Arm>,
    failed: Vec<State>,
    /// Failed so that no later start can succeed either.
    hopeless: Vec<State>,
}

/// A match: the state, where it starts and ends, and start and length of each capture (of a position: start only).
pub struct Match {
    pub state: State,
    pub start: Word,
    pub end: Word,
    pub captures: Vec<(Word, Word)>,
}

struct Matcher<'p> {
    pattern: &'p Pattern,
    subject: Slice,
    end: Word,
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
    let Some(values) = context.join(arms)? else { return Ok((None, failed)) };
    let words: Words =
        values.iter().map(|v| if let Abs::Int(word) = v { *word } else { Word::Imm(0) }).collect();
    let captures = words[2..].chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let found = Match { state: context.take_state(), start: words[0], end: words[1], captures };
    Ok((Some(found), failed))
}

fn with_start(mut arm: Arm, start: Word) -> Arm {
    arm.values.insert(0, Abs::Int(start));
    arm
}

impl Matcher<'_> {
    fn initial(&self, position: Word) -> Words {
        let mut words = vec![position];
        words.resize(1 + 2 * self.pattern.captures.len(), Word::Imm(0));
        words
    }

    fn item(&self, index: usize) -> Option<&Item> {
        self.pattern.items.get(index)
    }

    /// The literal text that the items from `index` on start with.
    fn literal(&self, index: usize) -> Vec<u8> {
        let items = self.pattern.items.get(index..).unwrap_or_default();
        let bytes = items.iter().map_while(|item| match item {
            Item::Single(set, Repeat::Once) => set.single(),
            _ => None,
        });
        bytes.collect()
    }

    /// One round of the search for a start.
    fn each_start(&self, context: &mut Context<'_>, start: Word, prefix: &[u8]) -> Result<Iteration> {
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
    fn items(&self, context: &mut Context<'_>, index: usize, words: Words, fixed: bool) -> Result<Outcome> {
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
        mut words: Words,
        fixed: bool,
        literal: &[u8],
    ) -> Result<Outcome> {
        let at = words[0];
        let left = context.sub(self.end, at);
        let short = context.compare(CompareOp::SLt, left, literal.len() as i64);
        self.unless(context, short, |context| {
            let mut failed = Vec::new();
            context.match_bytes(Slice { start: at, ..self.subject }, literal, &mut failed)?;
            words[0] = context.add(at, literal.len() as i64);
            let mut outcome = self.items(context, index + literal.len(), words, fixed)?;
            outcome.failed.extend(failed);
            Ok(outcome)
        })
    }

    /// Splits the current state: where the byte at `at` exists and is in the set, and the others.
    fn split_byte(&self, context: &mut Context<'_>, at: Word, set: &Set) -> Result<(State, Vec<State>)> {
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

    fn byte(&self, context: &mut Context<'_>, at: Word) -> Result<Word> {
        let address = context.address(self.subject.space, at, 1)?;
        Ok(context.load_at(address, Size::B1, false))
    }

    fn single(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Words,
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

    /// What follows item `index` surely fails on a byte of `set`: trying shorter matches of the item is no use.
    fn excludes(&self, index: usize, set: &Set) -> bool {
        let mut index = index + 1;
        loop {
            match self.item(index) {
                // Nothing behind can fail: the first way is taken.
                None => return true,
                Some(Item::Open(_) | Item::Position(_) | Item::Close(_)) => index += 1,
                Some(Item::Single(next, Repeat::Once | Repeat::Some)) => return next.is_disjoint(set),
                // The end is never before a byte.
                Some(Item::End) => return true,
                _ => return false,
            }
        }
    }

    /// As many bytes of the set as there are, at most `most`; then the rest, with fewer and fewer of them.
    fn greedy(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Words,
        set: &Set,
        most: Option<i64>,
    ) -> Result<Outcome> {
        let least = words[0];
        let furthest = self.run_of(context, least, set, most)?;
        if self.excludes(index, set) {
            words[0] = furthest;
            return self.items(context, index + 1, words, false);
        }
        let mut outcome = Outcome::default();
        let exits = context.repeat(&[furthest], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let mut words = words.clone();
            words[0] = at;
            let rest = self.items(context, index + 1, words, false)?;
            rest.matched.into_iter().for_each(|arm| iteration.leave_in(arm.state, arm.values));
            let mut failed = rest.failed;
            failed.extend(rest.hopeless);
            context.enter(failed)?;
            if context.state.alive() {
                let none = context.compare(CompareOp::SLe, at, least);
                let (none, some) = context.split(none);
                iteration.leave_in(none, vec![]);
                context.state = some;
                let shorter = context.sub(at, 1);
                iteration.again(context, vec![shorter]);
            }
            Ok(iteration)
        })?;
        for arm in exits {
            if arm.values.is_empty() { outcome.failed.push(arm.state) } else { outcome.matched.push(arm) }
        }
        Ok(outcome)
    }

    /// The position behind the run of bytes of the set at `at`, of at most `most`.
    fn run_of(&self, context: &mut Context<'_>, at: Word, set: &Set, most: Option<i64>) -> Result<Word> {
        if most == Some(1) {
            let (inside, outside) = self.split_byte(context, at, set)?;
            context.state = inside;
            let next = context.add(at, 1);
            let mut arms = vec![Arm { state: context.take_state(), values: vec![Abs::Int(next)] }];
            arms.extend(outside.into_iter().map(|state| Arm { state, values: vec![Abs::Int(at)] }));
            return first_word(context, arms);
        }
        if *set == Set::ALL {
            return Ok(self.end);
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
        first_word(context, arms)
    }

    /// As few bytes of the set as the rest allows.
    fn lazy(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Words,
        fixed: bool,
        set: &Set,
    ) -> Result<Outcome> {
        let at = words[0];
        let (captures, literal) = self.text_behind(index);
        if *set == Set::ALL && !literal.is_empty() {
            return self.lazy_until_text(context, index + 1 + captures, words, fixed, &literal);
        }
        if self.excludes(index, set) && !self.rest_is_empty(index + 1) {
            words[0] = self.run_of(context, at, set, None)?;
            return self.items(context, index + 1, words, false);
        }
        let mut outcome = Outcome::default();
        let exits = context.repeat(&[at], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let mut words = words.clone();
            words[0] = at;
            let rest = self.items(context, index + 1, words, false)?;
            rest.matched.into_iter().for_each(|arm| iteration.leave_in(arm.state, arm.values));
            let mut failed = rest.failed;
            failed.extend(rest.hopeless);
            context.enter(failed)?;
            if context.state.alive() {
                let (inside, outside) = self.split_byte(context, at, set)?;
                outside.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
                context.state = inside;
                let next = context.add(at, 1);
                iteration.again(context, vec![next]);
            }
            Ok(iteration)
        })?;
        for arm in exits {
            if arm.values.is_empty() { outcome.failed.push(arm.state) } else { outcome.matched.push(arm) }
        }
        Ok(outcome)
    }

    /// Nothing but captures follows.
    fn rest_is_empty(&self, index: usize) -> bool {
        let rest = self.pattern.items.get(index..).unwrap_or_default();
        rest.iter().all(|item| matches!(item, Item::Open(_) | Item::Position(_) | Item::Close(_)))
    }

    /// How many captures' ends stand behind item `index`, and the literal text that follows them.
    fn text_behind(&self, index: usize) -> (usize, Vec<u8>) {
        let items = self.pattern.items.get(index + 1..).unwrap_or_default();
        let captures = items.iter().take_while(|item| matches!(item, Item::Close(_))).count();
        (captures, self.literal(index + 1 + captures))
    }

    /// `.-` and then literal text, at item `text_index`: search for the text. Captures that end between the two end where
    /// the text starts.
    fn lazy_until_text(
        &self,
        context: &mut Context<'_>,
        text_index: usize,
        words: Words,
        fixed: bool,
        literal: &[u8],
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
            let rest = self.items(context, behind, words, false)?;
            rest.matched.into_iter().for_each(|arm| iteration.leave_in(arm.state, arm.values));
            let mut failed = rest.failed;
            failed.extend(rest.hopeless);
            context.enter(failed)?;
            if context.state.alive() {
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

    /// `%f[set]`: a byte outside of the set before, one in the set after; the subject's edges count as NUL.
    fn frontier(
        &self,
        context: &mut Context<'_>,
        index: usize,
        words: Words,
        fixed: bool,
        set: &Set,
    ) -> Result<Outcome> {
        let at = words[0];
        let first = context.compare(CompareOp::SLe, at, self.subject.start);
        let (first, later) = context.split(first);
        let mut arms = vec![Arm { state: first, values: vec![Abs::int(0)] }];
        context.state = later;
        if context.state.alive() {
            let before = context.sub(at, 1);
            let byte = self.byte(context, before)?;
            arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(byte)] });
        }
        let before = first_word(context, arms)?;
        let (failed, outside) = split_set(context, before, set)?;
        context.state = outside;
        let last = context.compare(CompareOp::SGe, at, self.end);
        let (last, earlier) = context.split(last);
        let mut arms = vec![Arm { state: last, values: vec![Abs::int(0)] }];
        context.state = earlier;
        if context.state.alive() {
            let byte = self.byte(context, at)?;
            arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(byte)] });
        }
        let after = first_word(context, arms)?;
        let (inside, also_failed) = split_set(context, after, set)?;
        context.state = inside;
        let mut outcome = self.items(context, index + 1, words, fixed)?;
        outcome.failed.extend([failed, also_failed]);
        Ok(outcome)
    }

    /// `%bxy`: from an `x` to the `y` that closes it.
    fn balanced(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Words,
        first: u8,
        last: u8,
    ) -> Result<Outcome> {
        let at = words[0];
        let mut opening = Set::EMPTY;
        opening.insert(first);
        let (open, mut failed) = self.split_byte(context, at, &opening)?;
        context.state = open;
        let after = context.add(at, 1);
        let exits = context.repeat(&[after, Word::Imm(1)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let (at, depth) = (variables[0], variables[1]);
            let over = context.compare(CompareOp::SGe, at, self.end);
            let (over, within) = context.split(over);
            iteration.leave_in(over, vec![]);
            context.state = within;
            let byte = self.byte(context, at)?;
            let next = context.add(at, 1);
            // The closing byte is looked at first, as in `matchbalance`.
            let closes = context.compare(CompareOp::Eq, byte, i64::from(last));
            let (closes, other) = context.split(closes);
            context.state = closes;
            let depth_after = context.sub(depth, 1);
            let done = context.compare(CompareOp::Eq, depth_after, 0);
            let (done, nested) = context.split(done);
            iteration.leave_in(done, vec![Abs::Int(next)]);
            context.state = nested;
            iteration.again(context, vec![next, depth_after]);
            context.state = other;
            let opens = context.compare(CompareOp::Eq, byte, i64::from(first));
            let opens = context.condition_word(opens);
            let depth = context.add(depth, opens);
            iteration.again(context, vec![next, depth]);
            Ok(iteration)
        })?;
        let mut closed = Vec::new();
        for arm in exits {
            if arm.values.is_empty() { failed.push(arm.state) } else { closed.push(arm) }
        }
        let mut outcome = Outcome::default();
        if !closed.is_empty() {
            words[0] = first_word(context, closed)?;
            outcome = self.items(context, index + 1, words, false)?;
        }
        outcome.failed.extend(failed);
        Ok(outcome)
    }

    fn back_reference(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Words,
        number: usize,
    ) -> Result<Outcome> {
        let at = words[0];
        let (start, mut length) = (words[1 + 2 * number], words[2 + 2 * number]);
        if self.pattern.captures[number] {
            // A position capture has no text; Lua compares with its negative length, which never fits.
            length = Word::Imm(i64::MAX);
        }
        let left = context.sub(self.end, at);
        let short = context.compare(CompareOp::SLt, left, length);
        let (short, enough) = context.split(short);
        context.state = enough;
        let mut outcome = Outcome::default();
        if context.state.alive() {
            let here = Slice { start: at, length, ..self.subject };
            let there = Slice { start, length, ..self.subject };
            let (same, different) = context.split_equal_slices(here, there)?;
            context.enter(same)?;
            words[0] = context.add(at, length);
            outcome = self.items(context, index + 1, words, false)?;
            outcome.failed.extend(different);
        }
        outcome.failed.push(short);
        Ok(outcome)
    }
}

fn first_word(context: &mut Context<'_>, arms: Vec<Arm>) -> Result<Word> {
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(word)]) => *word,
        _ => Word::Imm(0),
    })
}

/// Splits the current state: where the byte is in the set, and where it is not. A few runs are compared; other sets are a
/// table of 256 bytes.
fn split_set(context: &mut Context<'_>, byte: Word, set: &Set) -> Result<(State, State)> {
    let runs = set.runs();
    let gaps = set.complement().runs();
    let cond = match (runs.as_slice(), gaps.as_slice()) {
        ([], _) => Cond::Known(false),
        (_, []) => Cond::Known(true),
        ([run], _) => in_run(context, byte, *run),
        (_, [gap]) => {
            let cond = in_run(context, byte, *gap);
            let (inside, outside) = context.split(cond);
            return Ok((outside, inside));
        }
        _ => {
            let table: Vec<u8> = (0..=255).map(|byte| u8::from(set.contains(byte))).collect();
            let map = context.add_data("class", table);
            let base = context.emit(moonhook_ir::Op::DataAddress { map, offset: 0 });
            let byte = context.and(byte, 255);
            let byte = context.value(byte);
            let place = context.emit(moonhook_ir::Op::Binary(BinaryOp::Add, base, byte.into()));
            let flag = context.load(place, 0, Size::B1, false);
            context.compare(CompareOp::Ne, flag, 0)
        }
    };
    Ok(context.split(cond))
}

fn in_run(context: &mut Context<'_>, byte: Word, (first, last): (u8, u8)) -> Cond {
    if first == last {
        return context.compare(CompareOp::Eq, byte, i64::from(first));
    }
    let offset = context.sub(byte, i64::from(first));
    context.compare(CompareOp::ULe, offset, i64::from(last - first))
}
