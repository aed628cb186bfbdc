//! `signal.on(name, f)`: `f` is called when the process gets the signal.

use mlua::Value;

use crate::modules::module::Global;
use crate::modules::module::{Context, type_error};
use crate::registry::{Request, Signal};

pub(super) const GLOBAL: Global = Global { name: "signal", open };

fn open(context: &mut Context) -> mlua::Result<Value> {
    let table = context.lua.create_table()?;
    let requests = context.registry.requests.clone();
    let on = context.function("signal.on", move |_, arguments| {
        let Some(Value::String(name)) = arguments.first() else {
            return Err(type_error(arguments, 1, "on", "string"));
        };
        let Some(Value::Function(function)) = arguments.get(1) else {
            return Err(type_error(arguments, 2, "on", "function"));
        };
        let name = name.to_string_lossy();
        let Some(signal) = Signal::ALL.into_iter().find(|signal| signal.name() == name) else {
            let names = Signal::ALL.map(Signal::name).join(", ");
            return Err(format!("bad argument #1 to 'on' (there is no signal '{name}'; there are {names})"));
        };
        requests.add(Request::Signal { signal, function: function.clone() });
        Ok(Value::Nil)
    })?;
    table.raw_set("on", on)?;
    Ok(Value::Table(table))
}
