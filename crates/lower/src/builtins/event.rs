//! `event` at packet time: a name and values for those who listen in user space.

use super::{Call, Row, returns};
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::value::{Abs, Object, Shape, Str};

pub const ROWS: &[Row] = &[Row { name: "event", any_type: true, emit: event }];

/// What an event can carry.
pub const VALUES: &str = "integer, string, boolean or nil";

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

/// The value as an argument that records have a form for; the state is dead where there is none.
fn sendable(context: &mut Context<'_>, call: &Call, number: usize, value: &Abs) -> Result<Abs> {
    match value {
        Abs::Object(Object::Text(text)) => Ok(Abs::Str(Str::Const(text.clone()))),
        Abs::Float(_) | Abs::Object(_) => {
            call.wrong_type(context, number, VALUES);
            Ok(Abs::Nil)
        }
        Abs::Union(union) => {
            let has_form = |shape: &Shape| match shape {
                Shape::Object(id) => matches!(context.objects.get(*id as usize), Some(Object::Text(_))),
                _ => true,
            };
            if union.shapes.iter().all(has_form) {
                return Ok(value.clone());
            }
            context.dispatch_one(value, &mut |context, value| {
                let mut call = Call { narrowed: true, ..call.clone() };
                call.args[number - 1] = value.clone();
                sendable(context, &call, number, &value)
            })
        }
        value => Ok(value.clone()),
    }
}
