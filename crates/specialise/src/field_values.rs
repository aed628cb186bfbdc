//! What was read of a packet as Lua's values.

use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Object, Space, Str};
use moonhook_ir::words::Branches;
use moonhook_packet::{Value, ValuePaths};

/// The paths on which a packet was read as arms with Lua's values.
pub fn arms<'a>(context: &mut Context<'a>, paths: ValuePaths<Context<'a>>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for path in paths {
        context.state = path.state;
        let value = value_of(context, path.values)?;
        arms.push(Arm { state: context.take_state(), values: vec![value] });
    }
    Ok(arms)
}

fn value_of(context: &mut Context<'_>, value: Value) -> Result<Abs> {
    Ok(match value {
        Value::Nothing => Abs::Nil,
        Value::Header(name) => Abs::Object(Object::Header(name)),
        Value::Text(text) => Abs::text(text),
        Value::Number(word) => Abs::Int(word),
        Value::Flag(word) => Abs::Bool(word),
        Value::Ipv4(word) => Abs::Str(Str::Ipv4(word)),
        Value::Ipv6(high, low) => Abs::Str(Str::Ipv6(high, low)),
        Value::Mac(word) => Abs::Str(Str::Mac(word)),
        Value::Bytes { start, length } => Abs::Str(Str::Slice { space: Space::Packet, start, length }),
        Value::Name { start, length } => Abs::Str(context.name_text(start, length)?),
    })
}
