//! `event(name, value…)`: tells those who listen with `on`. Handlers use it too; here it is what control code gets.

use mlua::Value;
use moonhook_shape::Datum;

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
        let values = (2..).zip(&arguments[1..]).map(|(number, value)| datum(number, value));
        let values = values.collect::<Result<_, String>>()?;
        requests.add(Request::Event { name: name.as_bytes().to_vec(), values });
        Ok(Value::Nil)
    })?;
    Ok(Value::Function(function))
}

fn datum(number: usize, value: &Value) -> Result<Datum, String> {
    Ok(match value {
        Value::Nil => Datum::Nil,
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        other => {
            let got = if other.is_number() { "float" } else { type_name(other) };
            let problem = format!("integer, string, boolean or nil expected, got {got}");
            return Err(format!("bad argument #{number} to 'event' ({problem})"));
        }
    })
}
