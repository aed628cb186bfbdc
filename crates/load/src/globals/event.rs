//! `event(name, value…)`: tells those who listen with `on`. Handlers use it too; here it is what control code gets.

use mlua::Value;

use super::Global;
use crate::modules::{Context, type_error, type_name};
use crate::registry::Request;

pub(super) const GLOBAL: Global = Global { name: "event", open };

fn open(context: &mut Context) -> mlua::Result<Value> {
    let requests = context.registry.requests.clone();
    let function = context.function("event", move |_, arguments| {
        let Some(Value::String(name)) = arguments.first() else {
            return Err(type_error(arguments, 1, "event", "string"));
        };
        let values = arguments[1..].to_vec();
        for (number, value) in (2..).zip(&values) {
            if !matches!(value, Value::Nil | Value::Boolean(_) | Value::Integer(_) | Value::String(_)) {
                let got = if value.is_number() { "number" } else { type_name(value) };
                let problem = format!("integer, string, boolean or nil expected, got {got}");
                return Err(format!("bad argument #{number} to 'event' ({problem})"));
            }
        }
        requests.add(Request::Event { name: name.as_bytes().to_vec(), values });
        Ok(Value::Nil)
    })?;
    Ok(Value::Function(function))
}
