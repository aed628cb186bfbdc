//! `string.find` and `string.match` with patterns that are known before packets arrive (Lua manual § 6.5.1).

use super::call::{Call, Row, row};
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::paths::Arm;
use crate::patterns::matcher::{self, Match};
use crate::patterns::parse::{self, MOST_ITEMS, Pattern};
use crate::state::State;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};

pub const ROWS: &[Row] = &[row("string.find", find), row("string.match", match_)];

/// A search that was made: the match with its state, if there can be one, and the states without.
pub struct Search {
    pub subject: Slice,
    pub found: Option<Match>,
    /// For each capture, whether it is a position.
    pub positions: Vec<bool>,
    pub failed: Vec<State>,
}

fn find(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let plain = call.arg(4).truth() == Some(true);
    let Some(search) = search(context, call, plain)? else { return Ok(vec![]) };
    finish(context, search, vec![Abs::Nil], |context, subject, found| {
        let last = context.sub(found.end, subject.start);
        vec![position(context, subject, found.start), Abs::Int(last)]
    })
}

fn match_(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(search) = search(context, call, false)? else { return Ok(vec![]) };
    finish(context, search, vec![Abs::Nil], whole_match)
}

/// The whole match, which is a result where the pattern has no captures.
pub fn whole_match(context: &mut Context<'_>, subject: Slice, found: &Match) -> Vec<Abs> {
    if !found.captures.is_empty() {
        return vec![];
    }
    let length = context.sub(found.end, found.start);
    vec![Abs::Str(Slice { start: found.start, length, ..subject }.text())]
}

/// A position of the subject as Lua counts: from 1.
fn position(context: &mut Context<'_>, subject: Slice, at: Word) -> Abs {
    let offset = context.sub(at, subject.start);
    Abs::Int(context.add(offset, 1))
}

/// The paths out: what `first` makes of the match, followed by the captures; `missing` without a match.
pub fn finish(
    context: &mut Context<'_>,
    search: Search,
    missing: Vec<Abs>,
    first: impl FnOnce(&mut Context<'_>, Slice, &Match) -> Vec<Abs>,
) -> Result<Vec<Arm>> {
    let mut arms: Vec<Arm> = Vec::new();
    if let Some(found) = search.found {
        context.state = found.state.clone();
        let mut values = first(context, search.subject, &found);
        for ((start, length), is_position) in found.captures.iter().zip(search.positions) {
            values.push(match is_position {
                true => position(context, search.subject, *start),
                false => Abs::Str(Slice { start: *start, length: *length, ..search.subject }.text()),
            });
        }
        let state = context.take_state();
        arms.push(Arm { state, values });
    }
    context.enter(search.failed)?;
    if context.state.alive() {
        let state = context.take_state();
        arms.push(Arm { state, values: missing });
    }
    Ok(arms)
}

/// How a pattern's text is read.
pub type Reading = fn(&[u8]) -> std::result::Result<Pattern, String>;

/// The pattern that a call is given; refuses one that is not known, malformed or too long.
pub fn compiled(context: &mut Context<'_>, call: &Call, pattern: Str, reading: Reading) -> Result<Pattern> {
    let name = crate::names::text(&call.called);
    let Str::Const(pattern) = pattern else {
        return context.refuse(LowerErrorKind::PatternNotConstant, name);
    };
    match reading(&pattern) {
        Ok(pattern) if pattern.is_long() => {
            context.refuse(LowerErrorKind::LongPattern { limit: MOST_ITEMS }, name)
        }
        Ok(pattern) => Ok(pattern),
        Err(message) => context.refuse(LowerErrorKind::BadPattern { message }, name),
    }
}

/// Searches as the arguments say; `None`, with the state dead, if one of them is wrong.
fn search(context: &mut Context<'_>, call: &Call, plain: bool) -> Result<Option<Search>> {
    let Some(text) = call.string(context, 1)? else { return Ok(None) };
    let Some(pattern) = call.string(context, 2)? else { return Ok(None) };
    let init = call.integer_or(context, 3, Word::Imm(1))?;
    if !context.state.alive() {
        return Ok(None);
    }
    let reading: Reading = if plain { |text| Ok(parse::literal(text)) } else { parse::parse };
    let pattern = compiled(context, call, pattern, reading)?;
    let (subject, pattern) = in_place(context, &text, pattern)?;
    let skipped = first_offset(context, init, subject.length)?;
    let beyond = context.compare(CompareOp::SGt, skipped, subject.length);
    let (beyond, within) = context.split(beyond);
    context.state = within;
    let from = context.add(subject.start, skipped);
    let bytes = Slice { case: None, ..subject };
    let (found, mut failed) = matcher::run(context, &pattern, bytes, from)?;
    failed.push(beyond);
    Ok(Some(Search { subject, found, positions: pattern.captures, failed }))
}

/// The subject, and the pattern of its bytes as they are: a text in lower case need not be written to be searched.
fn in_place(context: &mut Context<'_>, text: &Str, pattern: Pattern) -> Result<(Slice, Pattern)> {
    if let Str::Cased { case, .. } = text
        && let Some(pattern) = pattern.before_case(*case)
    {
        return Ok((context.view_of(text)?, pattern));
    }
    Ok((context.slice_of(text)?, pattern))
}

/// The optional third argument as an offset from 0 (`posrelatI` in `lstrlib.c`): negative ones count from the end, and
/// none is before the start.
pub fn first_offset(context: &mut Context<'_>, init: Word, length: Word) -> Result<Word> {
    match init {
        Word::Imm(imm) if imm > 0 => Ok(Word::Imm(imm - 1)),
        Word::Imm(0) => Ok(Word::Imm(0)),
        Word::Imm(imm) => {
            let counted = context.add(length, imm);
            context.maximum(counted, Word::Imm(0))
        }
        init => {
            let negative = context.compare(CompareOp::SLt, init, 0);
            let (negative, other) = context.split(negative);
            context.state = negative;
            let counted = context.add(length, init);
            let mut arms = vec![Arm { state: context.take_state(), values: vec![Abs::Int(counted)] }];
            context.state = other;
            let counted = context.sub(init, 1);
            arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(counted)] });
            let counted = match context.join(arms)?.as_deref() {
                Some([Abs::Int(word)]) => *word,
                _ => Word::Imm(0),
            };
            context.maximum(counted, Word::Imm(0))
        }
    }
}
