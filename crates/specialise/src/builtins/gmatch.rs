//! `string.gmatch` with patterns that are known before packets arrive (Lua manual § 6.5).
//!
//! The iterator's state are cells of this packet, like captured variables: in a loop they are what varies. Positions count from
//! the subject's start, for a write to the packet moves a subject of packet bytes (`writes.rs`).

use super::call::{Call, Row, row};
use super::pattern::{self, Search};
use crate::cells::ITERATOR;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::patterns::{matcher, parse};
use crate::strings::Slice;
use crate::value::{Abs, Matches, Object, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use std::rc::Rc;

pub const ROWS: &[Row] = &[row("string.gmatch", gmatch)];

fn gmatch(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let Some(pattern) = call.string(context, 2)? else { return Ok(vec![]) };
    let init = call.integer_or(context, 3, Word::Imm(1))?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let pattern = pattern::compiled(context, call, pattern, parse::parse_repeated)?;
    let Slice { space, start, length, .. } = context.slice_of(&text)?;
    let skipped = pattern::first_offset(context, init, length)?;
    // `gmatch` in lstrlib.c: behind the end there is nothing to match.
    let beyond = context.add(length, 1);
    let skipped = match skipped {
        Word::Imm(0) => skipped,
        skipped => context.minimum(skipped, beyond)?,
    };
    let cells = [0, 1, 2].map(|number| context.cell_number(ITERATOR - number));
    let subject = Abs::Str(Str::Slice { space, start, length });
    for (cell, value) in cells.into_iter().zip([subject, Abs::Int(skipped), Abs::FALSE]) {
        context.state.cells.insert(cell, value);
    }
    context.only(Abs::Object(Object::Matches(Rc::new(Matches { pattern, cells }))))
}

/// A call of the iterator (`gmatch_aux` in lstrlib.c): the next match's captures, or no value. Where `gmatch` was called on several
/// paths, the subject depends on the path.
pub fn next_match(context: &mut Context<'_>, matches: &Matches) -> Result<Vec<Arm>> {
    let subject = context.state.cells.get(&matches.cells[0]).cloned().unwrap_or(Abs::Nil);
    context.arms_of_each(&subject, &mut |context, subject| next_match_in(context, matches, subject))
}

fn next_match_in(context: &mut Context<'_>, matches: &Matches, subject: &Abs) -> Result<Vec<Arm>> {
    let [_, position, matched] = matches.cells;
    let cell = |cell: u32| context.state.cells.get(&cell).cloned();
    let (Abs::Str(text), Some(Abs::Int(skipped)), Some(Abs::Bool(before))) =
        (subject, cell(position), cell(matched))
    else {
        let help = "call `gmatch` where its matches are taken";
        return context.unsupported("this iterator of `gmatch`", help, None);
    };
    let subject = context.slice_of(text)?;
    let from = context.add(subject.start, skipped);
    let mut search = search_from(context, matches, subject, from)?;
    if !matches.pattern.takes_bytes() {
        search = skip_repeated(context, matches, search, from, before)?;
    }
    if let Some(found) = &mut search.found {
        context.state = found.state.clone();
        let taken = context.sub(found.end, subject.start);
        found.state = context.take_state();
        found.state.cells.insert(position, Abs::Int(taken));
        if !matches.pattern.takes_bytes() {
            found.state.cells.insert(matched, Abs::TRUE);
        }
    }
    pattern::finish(context, search, vec![], pattern::whole_match)
}

fn search_from(context: &mut Context<'_>, matches: &Matches, subject: Slice, from: Word) -> Result<Search> {
    let end = context.add(subject.start, subject.length);
    let beyond = context.compare(CompareOp::SGt, from, end);
    let (beyond, within) = context.split(beyond);
    context.state = within;
    let (found, mut failed) = match context.state.alive() {
        true => matcher::run(context, &matches.pattern, subject, from)?,
        false => (None, vec![]),
    };
    failed.push(beyond);
    Ok(Search { subject, found, positions: matches.pattern.captures.clone(), failed })
}

/// A match that is empty and stands where the last one ended does not count: the search goes on one byte further.
fn skip_repeated(
    context: &mut Context<'_>,
    matches: &Matches,
    search: Search,
    from: Word,
    before: Word,
) -> Result<Search> {
    let Some(found) = search.found else { return Ok(search) };
    context.state = found.state.clone();
    let again = context.compare(CompareOp::Eq, found.end, from);
    let again = context.condition_word(again);
    let again = context.and(again, before);
    let again = context.compare(CompareOp::Ne, again, 0);
    let (again, other) = context.split(again);
    let values = |found: &matcher::Match| {
        let captures = found.captures.iter().flat_map(|(start, length)| [*start, *length]);
        [found.start, found.end].into_iter().chain(captures).map(Abs::Int).collect::<Vec<Abs>>()
    };
    let mut arms = vec![Arm { state: other, values: values(&found) }];
    context.state = again;
    let next = context.add(from, 1);
    let second = search_from(context, matches, search.subject, next)?;
    if let Some(found) = second.found {
        arms.push(Arm { state: found.state.clone(), values: values(&found) });
    }
    let found = matcher::join_matches(context, arms)?;
    let failed = search.failed.into_iter().chain(second.failed).collect();
    Ok(Search { found, failed, ..search })
}
