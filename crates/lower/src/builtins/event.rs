//! `event` at packet time: a name and values for those who listen in user space.

use super::{Call, Row, returns, row};
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::value::{Abs, Object, Str};

pub const ROWS: &[Row] = &[row("event", event)];

/// What an event can carry.
pub const VALUES: &str = "integer, string, boolean or nil";

fn event(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(name) = call.string(context, 1)? else { return Ok(vec![]) };
    let mut values = vec![Abs::Str(name)];
    for (number, value) in (2..).zip(call.args.iter().skip(1)) {
        values.push(match value {
            Abs::Object(Object::Text(text)) => Abs::Str(Str::Const(text.clone())),
            Abs::Float(_) | Abs::Object(_) => {
                call.wrong_type(context, number, VALUES);
                return Ok(vec![]);
            }
            value => value.clone(),
        });
    }
    context.send_event(&values)?;
    returns(context, vec![])
}
