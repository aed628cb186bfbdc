//! `on(name, f)`: `f` gets the values of each event of that name.

use mlua::Value;

use crate::modules::module::Global;
use crate::modules::module::{Context, type_error};
use crate::registry::Request;

pub(super) const GLOBAL: Global = Global { name: "on", open };

fn open(context: &mut Context) -> mlua::Result<Value> {
    let requests = context.registry.requests.clone();
    let function = context.function("on", move |_, arguments| {
        let Some(Value::String(event)) = arguments.first() else {
            return Err(type_error(arguments, 1, "on", "string"));
        };
        let Some(Value::Function(function)) = arguments.get(1) else {
            return Err(type_error(arguments, 2, "on", "function"));
        };
        requests.add(Request::Listen { event: event.as_bytes().to_vec(), function: function.clone() });
        Ok(Value::Nil)
    })?;
    Ok(Value::Function(function))
}
