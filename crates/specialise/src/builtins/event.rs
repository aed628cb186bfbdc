//! `event` at packet time: a name and values for those who listen in user space.

use super::call::{Call, Row, returns};
use crate::context::{Context, Result};
use crate::fields::Key;
use crate::paths::Arm;
use crate::shared::held::STALE;
use crate::value::{Abs, Object, Variant};
use moonhook_ir::words::PathState;
use moonhook_schema::MAX_NESTED;
use moonhook_snapshot::Value;

pub const ROWS: &[Row] = &[Row { name: "event", any_type: true, emit: event }];

/// What an event can carry.
pub const VALUES: &str = "number, string, boolean, nil or record of those";

fn event(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let mut values = vec![name(context, call)?];
    for (index, value) in call.args.iter().enumerate().skip(1) {
        values.push(sendable(context, call, index + 1, value)?);
    }
    if context.state.alive() {
        context.send_event(&values)?;
    }
    returns(context, vec![])
}

/// The first argument as a string.
fn name(context: &mut Context<'_>, call: &Call) -> Result<Abs> {
    let text =
        |context: &mut Context<'_>, call: &Call| Ok(call.string(context, 1)?.map_or(Abs::Nil, Abs::Str));
    match call.args.first() {
        Some(Abs::Union(_)) => context.dispatch_one(&call.arg(1), &mut |context, value| {
            let mut call = Call { narrowed: true, ..call.clone() };
            call.args[0] = value;
            text(context, &call)
        }),
        _ => text(context, call),
    }
}

/// The value as events carry it; the state is dead where they cannot.
fn sendable(context: &mut Context<'_>, call: &Call, number: usize, value: &Abs) -> Result<Abs> {
    if let Abs::Union(union) = value
        && union.variants.iter().any(|variant| is_object(context, variant))
    {
        return context.dispatch_one(value, &mut |context, value| {
            let mut call = Call { narrowed: true, ..call.clone() };
            call.args[number - 1] = value.clone();
            sendable(context, &call, number, &value)
        });
    }
    check(context, call, number, value, 0)?;
    Ok(if context.state.alive() { value.clone() } else { Abs::Nil })
}

fn is_object(context: &Context<'_>, variant: &Variant) -> bool {
    match variant {
        Variant::Object(id) => !matches!(context.known.objects.get(*id), Some(Object::Text(_))),
        Variant::Entry(_) | Variant::Structure(_) => true,
        _ => false,
    }
}

/// Raises the error about the argument where the value, which `depth` tables are around, is none that events carry.
fn check(context: &mut Context<'_>, call: &Call, number: usize, value: &Abs, depth: usize) -> Result<()> {
    if !context.state.alive() {
        return Ok(());
    }
    match value {
        Abs::Nil
        | Abs::Bool(_)
        | Abs::Int(_)
        | Abs::Float(_)
        | Abs::Str(_)
        | Abs::Object(Object::Text(_)) => {}
        Abs::Union(union) if !union.variants.iter().any(|variant| is_object(context, variant)) => {}
        Abs::Union(_) => {
            let call = Call { narrowed: true, ..call.clone() };
            context.dispatch(value, &mut |context, value| {
                check(context, &call, number, &value, depth)?;
                Ok(vec![])
            })?;
        }
        stale if *stale == STALE => return context.refuse_stale(None),
        Abs::Entry { path, base } if context.entry_can_be_sent(*path, *base, MAX_NESTED - depth)? => {}
        Abs::Object(Object::Stored(_)) => return context.needs_memory(call.name),
        Abs::Object(Object::Table(table)) if context.known.shared.is_shared(context.snapshot, *table) => {
            return context.refuse_shared(*table, "an event with all of", "send its entries one by one");
        }
        Abs::Object(Object::Made(_) | Object::Table(_)) if depth < MAX_NESTED => {
            return check_fields(context, call, number, value, depth + 1);
        }
        _ => call.wrong_type(context, number, VALUES),
    }
    Ok(())
}

fn check_fields(
    context: &mut Context<'_>,
    call: &Call,
    number: usize,
    table: &Abs,
    depth: usize,
) -> Result<()> {
    for value in without_name(context, table) {
        let call = Call { narrowed: call.narrowed || matches!(value, Abs::Union(_)), ..call.clone() };
        context.dispatch(&value, &mut |context, value| {
            if value != Abs::Nil {
                call.wrong_type(context, number, VALUES);
            }
            Ok(vec![])
        })?;
    }
    for name in context.record_names(table)? {
        if context.state.alive() {
            for arm in context.record_field(table, &name)? {
                context.state = arm.state;
                let value = arm.values.first().cloned().unwrap_or(Abs::Nil);
                check(context, call, number, &value, depth)?;
            }
        }
    }
    Ok(())
}

/// The values of a table whose keys are no strings.
fn without_name(context: &mut Context<'_>, table: &Abs) -> Vec<Abs> {
    match table {
        Abs::Object(Object::Made(made)) => {
            let keys = context.state.made_keys(*made);
            let unnamed = keys.iter().filter(|key| !matches!(key, Key::Text(_)));
            unnamed.map(|key| context.state.made_field(*made, key)).collect()
        }
        Abs::Object(Object::Table(table)) => {
            let table = context.snapshot.table(*table);
            let unnamed = table.entries.iter().filter(|(key, _)| !matches!(key, Value::String(_)));
            let values: Vec<Value> =
                table.array.iter().chain(unnamed.map(|(_, value)| value)).cloned().collect();
            values.iter().map(|value| Abs::of_load_time(context.snapshot, value)).collect()
        }
        _ => Vec::new(),
    }
}
