//! `timer.every(seconds, f)`, `timer.after(seconds, f)`, `timer.cancel(timer)`.

use std::time::Duration;

use mlua::{Function, Table, Value};
use moonhook_library::key;

use crate::modules::module::Global;
use crate::modules::module::{Context, type_error};
use crate::registry::Request;

pub(super) const GLOBAL: Global = Global { name: "timer", open };

/// A process would do nothing else if timers went off more often.
const SHORTEST: Duration = Duration::from_millis(1);

fn open(context: &mut Context) -> mlua::Result<Value> {
    let table = context.lua.create_table()?;
    add(context, &table, "timer.every", true)?;
    add(context, &table, "timer.after", false)?;
    let requests = context.registry.requests.clone();
    let cancel = context.function("timer.cancel", move |_, arguments| {
        let Some(Value::Integer(id)) = arguments.first() else {
            return Err(type_error(arguments, 1, "cancel", "timer"));
        };
        requests.add(Request::Cancel { id: *id as u64 });
        Ok(Value::Nil)
    })?;
    table.raw_set("cancel", cancel)?;
    Ok(Value::Table(table))
}

fn add(context: &mut Context, table: &Table, name: &'static str, repeats: bool) -> mlua::Result<()> {
    let requests = context.registry.requests.clone();
    let function: Function = context.function(name, move |_, arguments| {
        let delay = delay(arguments, key(name), repeats)?;
        let Some(Value::Function(function)) = arguments.get(1) else {
            return Err(type_error(arguments, 2, key(name), "function"));
        };
        let id = requests.new_timer();
        requests.add(Request::Timer { id, delay, repeats, function: function.clone() });
        Ok(Value::Integer(id as i64))
    })?;
    table.raw_set(key(name), function)
}

fn delay(arguments: &[Value], function: &str, repeats: bool) -> Result<Duration, String> {
    let seconds = match arguments.first() {
        Some(Value::Integer(seconds)) => *seconds as f64,
        Some(Value::Number(seconds)) => *seconds,
        _ => return Err(type_error(arguments, 1, function, "number")),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(delay) if delay >= SHORTEST || !repeats => Ok(delay),
        _ if repeats => Err(format!("bad argument #1 to '{function}' (at least 0.001 seconds expected)")),
        _ => Err(format!("bad argument #1 to '{function}' (a number of seconds expected)")),
    }
}
