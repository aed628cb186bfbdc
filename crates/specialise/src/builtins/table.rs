//! Sequences (Lua manual § 6.2 `ipairs`, § 6.7): tables of load time, and those of packet time whose length is known.

use super::call::{Call, Row, refuse, returns, row};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::fields::Key;
use crate::indexing;
use crate::paths::Arm;
use crate::value::{Abs, Object, Word};
use moonhook_ir::words::Words;

pub const ROWS: &[Row] = &[
    row("ipairs", ipairs),
    row(NEXT_ELEMENT, next_element),
    row("table.insert", insert),
    row("table.remove", remove),
    row("table.unpack", unpack),
    row("table.concat", concat),
];

/// What `ipairs` gives as iterator.
const NEXT_ELEMENT: &str = "ipairs iterator";

/// Results of one `table.unpack` at most.
const MAX_RESULTS: i64 = 64;

fn ipairs(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match call.arg(1) {
        // What is no table is an error in the first turn.
        table @ (Abs::Object(Object::Made(_) | Object::Stored(_) | Object::Table(_))
        | Abs::Entry { .. }
        | Abs::Nil
        | Abs::Bool(_)
        | Abs::Int(_)
        | Abs::Float(_))
            if !call.args.is_empty() =>
        {
            returns(context, vec![Abs::Object(Object::Builtin(NEXT_ELEMENT)), table, Abs::int(0)])
        }
        _ => refuse(context, call),
    }
}

/// `ipairsaux`: the next index and its element, or nil.
fn next_element(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let table @ (Abs::Nil | Abs::Bool(_) | Abs::Int(_) | Abs::Float(_)) = call.arg(1) {
        context.fail_unnoted(Message::bare(format!("attempt to index a {} value", table.message_name())));
        return Ok(vec![]);
    }
    let index = call.integer(context, 2)?;
    let index = context.add(index, 1);
    let mut arms = Vec::new();
    for arm in indexing::index(context, &call.arg(1), &Abs::Int(index))? {
        context.state = arm.state;
        let value = arm.values.into_iter().next().unwrap_or(Abs::Nil);
        for (state, value) in context.alternatives(&value)? {
            let values = if value == Abs::Nil { vec![Abs::Nil] } else { vec![Abs::Int(index), value] };
            arms.push(Arm { state, values });
        }
    }
    Ok(arms)
}

/// The table and its length, if it was made at packet time and has no metamethods.
fn sequence(context: &mut Context<'_>, call: &Call) -> Result<Option<(u32, i64)>> {
    let Abs::Object(object @ Object::Made(table)) = call.arg(1) else { return Ok(None) };
    if context.state.metatable_of(context.snapshot, &object).is_some() {
        return Ok(None);
    }
    Ok(Some((table, context.made_length(table)?)))
}

fn insert(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let (Abs::Object(Object::Stored(table)), 2) = (call.arg(1), call.args.len()) {
        let length = context.stored_length(table)?;
        let index = context.add(length, 1);
        context.write_stored(table, &Abs::Int(index), &call.arg(2))?;
        return returns(context, vec![]);
    }
    let Some((table, length)) = sequence(context, call)? else { return refuse(context, call) };
    let (position, value) = match call.args.len() {
        2 => (length + 1, call.arg(2)),
        3 => match call.arg(2) {
            Abs::Int(Word::Imm(position)) if (1..=length + 1).contains(&position) => (position, call.arg(3)),
            _ => return refuse(context, call),
        },
        _ => return refuse(context, call),
    };
    for index in (position..=length).rev() {
        let moved = context.state.made_field(table, &Key::Integer(index));
        context.set_made_field(table, Key::Integer(index + 1), moved);
    }
    context.set_made_field(table, Key::Integer(position), value);
    returns(context, vec![])
}

fn remove(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some((table, length)) = sequence(context, call)? else { return refuse(context, call) };
    let position = match (call.args.len(), call.arg(2)) {
        (1, _) => length,
        (_, Abs::Int(Word::Imm(position))) if (1..=length).contains(&position) => position,
        _ => return refuse(context, call),
    };
    let removed = context.state.made_field(table, &Key::Integer(position));
    for index in position..length {
        let moved = context.state.made_field(table, &Key::Integer(index + 1));
        context.set_made_field(table, Key::Integer(index), moved);
    }
    if length > 0 {
        context.set_made_field(table, Key::Integer(length), Abs::Nil);
    }
    context.only(removed)
}

/// First and last index that the call asks for, if they are known.
fn range(call: &Call, first: usize, length: i64) -> Option<(i64, i64)> {
    let number = |argument: usize, default: i64| match call.arg(argument) {
        Abs::Nil => Some(default),
        Abs::Int(Word::Imm(imm)) => Some(imm),
        _ => None,
    };
    let (from, to) = (number(first, 1)?, number(first + 1, length)?);
    (to.checked_sub(from)? < MAX_RESULTS).then_some((from, to))
}

fn unpack(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let length = match call.arg(1) {
        Abs::Object(Object::Table(table)) => match context.snapshot.table(table).metatable {
            None => context.snapshot.table(table).array.len() as i64,
            Some(_) => return refuse(context, call),
        },
        _ => match sequence(context, call)? {
            Some((_, length)) => length,
            None => return refuse(context, call),
        },
    };
    let Some((from, to)) = range(call, 2, length) else { return refuse(context, call) };
    let mut values = Vec::new();
    for index in from..=to {
        let arms = indexing::index(context, &call.arg(1), &Abs::int(index))?;
        let value = context.join(arms)?.and_then(|values| values.into_iter().next());
        values.push(value.unwrap_or(Abs::Nil));
    }
    returns(context, values)
}

fn concat(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some((table, length)) = sequence(context, call)? else { return refuse(context, call) };
    let Some((from, to)) = range(call, 3, length) else { return refuse(context, call) };
    let separator = if call.is_none_or_nil(2) { Abs::text("") } else { call.arg(2) };
    if !matches!(separator, Abs::Str(_) | Abs::Int(_)) {
        return refuse(context, call);
    }
    let mut pieces = Vec::new();
    for index in from..=to {
        if index > from {
            pieces.push(separator.clone());
        }
        pieces.push(context.state.made_field(table, &Key::Integer(index)));
    }
    if !pieces.iter().all(|piece| matches!(piece, Abs::Str(_) | Abs::Int(_))) {
        return refuse(context, call);
    }
    let text = if pieces.is_empty() { Abs::text("") } else { context.concatenate(&pieces)? };
    context.only(text)
}
