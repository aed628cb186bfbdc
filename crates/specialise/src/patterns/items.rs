//! Items that match no single byte of a set: `%f[set]`, `%bxy`, `%1`.

use super::matcher::{Matcher, Outcome, Progress};
use super::parse::Set;
use super::sets::split_set;
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};

impl Matcher<'_> {
    /// `%f[set]`: a byte outside of the set before, one in the set after; the subject's edges count as NUL.
    pub(super) fn frontier(
        &self,
        context: &mut Context<'_>,
        index: usize,
        words: Progress,
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
        let before = context.join_word(arms)?;
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
        let after = context.join_word(arms)?;
        let (inside, also_failed) = split_set(context, after, set)?;
        context.state = inside;
        let mut outcome = self.items(context, index + 1, words, fixed)?;
        outcome.failed.extend([failed, also_failed]);
        Ok(outcome)
    }

    /// `%bxy`: from an `x` to the `y` that closes it.
    pub(super) fn balanced(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Progress,
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
            words[0] = context.join_word(closed)?;
            outcome = self.items(context, index + 1, words, false)?;
        }
        outcome.failed.extend(failed);
        Ok(outcome)
    }

    pub(super) fn back_reference(
        &self,
        context: &mut Context<'_>,
        index: usize,
        mut words: Progress,
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
