//! `require "flow"`: tables that give a function to each flow (docs/flows.md).

mod handler;
mod keys;
mod methods;

use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_flows::{Field, KeyKind, Layout, field_names};
use moonhook_library::own::flow::CALL;
use moonhook_snapshot::FlowTable;

use self::handler::handler;
use self::keys::words;
use self::methods::METHODS;
use super::module::{Context, Module, type_error};
use crate::flows::{Flows, Made};

pub(super) const MODULE: Module = Module { name: "flow", open };

/// Flows that a table has room for unless the script says otherwise.
const CAPACITY: u32 = 65_536;

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let call = caller(context)?;
    let flows = context.registry.flows.clone();
    let (methods, globals) = (table.clone(), context.globals.clone());
    let declared = context.registry.declared.clone();
    let new = context.function("flow.new", move |lua, arguments| {
        if declared.is_closed() {
            return Err("flow tables are made at load time, before packets arrive".to_string());
        }
        let Some(Value::Table(options)) = arguments.first() else {
            return Err(type_error(arguments, 1, "new", "table"));
        };
        let made = make(lua, &flows, options, (&call, &methods, &globals))?;
        let handle = made.handle.clone();
        flows.add(made);
        Ok(Value::Table(handle))
    })?;
    table.raw_set("new", new)?;
    for (name, body) in METHODS {
        let flows = context.registry.flows.clone();
        let method = context.values_function(name, move |lua, arguments| {
            let number = arguments.first().and_then(Value::as_table).and_then(|table| flows.number_of(table));
            let number =
                number.ok_or_else(|| type_error(arguments, 1, moonhook_library::key(name), "flow table"))?;
            body(lua, &flows, number, arguments)
        })?;
        table.raw_set(moonhook_library::key(name), method)?;
    }
    Ok(table)
}

/// The name in the registry of what calls the function of a flow with packet and `arg`, and gives the number of the verdict, or raises
/// [`FUNCTION_FAILED`]: whoever runs handlers puts it there.
pub const CALL_FUNCTION: &str = "moonhook.call_flow";

/// The error of what calls a flow table whose function has failed, which has told its own.
pub const FUNCTION_FAILED: &str = moonhook_library::own::flow::FUNCTION_FAILED;

/// What handlers call: `flow call` of the library.
fn caller(context: &mut Context) -> mlua::Result<Function> {
    let flows = context.registry.flows.clone();
    let find = context.lua.create_function(move |lua, arguments: MultiValue| {
        let mut arguments = arguments.into_iter();
        let number = arguments.next().and_then(|number| number.as_integer()).unwrap_or_default() as usize;
        let values: Vec<Value> = arguments.collect();
        let key = flows.key_kind(number).ok_or(()).and_then(|kind| words(&kind, &values).map_err(drop));
        let found = key.ok().and_then(|key| flows.function(number, &key)).map(|found| found.function);
        Ok((found, lua.named_registry_value::<Option<Function>>(CALL_FUNCTION)?))
    })?;
    let call: Function = context.chunk::<Function>(include_str!("flow.lua"))?.call(find)?;
    context.names.add_function(CALL.name, call.clone());
    Ok(call)
}

fn make(
    lua: &Lua,
    flows: &Flows,
    options: &Table,
    (call, methods, globals): (&Function, &Table, &Table),
) -> Result<Made, String> {
    const NAMES: [&str; 5] = ["key", "capacity", "default", "idle", "name"];
    for pair in options.pairs::<Value, Value>() {
        let (name, _) = pair.map_err(said)?;
        let known =
            name.as_string().is_some_and(|name| NAMES.iter().any(|known| **known == *name.to_string_lossy()));
        if !known {
            let name = name.to_string().unwrap_or_default();
            return Err(bad(&format!(
                "there is no option '{name}', but 'key', 'capacity', 'default', 'idle', 'name'"
            )));
        }
    }
    let option = |name: &str| options.raw_get::<Value>(name).map_err(said);
    let (key, function) = key_option(option("key")?)?;
    let default = match option("default")? {
        Value::Nil => None,
        Value::Function(function) => Some(function),
        _ => return Err(bad("field 'default': function expected")),
    };
    let capacity = match option("capacity")? {
        Value::Nil => CAPACITY,
        value => integer(&value)
            .filter(|number| (1..=i64::from(Layout::MOST)).contains(number))
            .ok_or_else(|| bad(&format!("field 'capacity': integer from 1 to {} expected", Layout::MOST)))?
            as u32,
    };
    let number = flows.count();
    let name = match option("name")? {
        Value::Nil if number == 0 => "flows".to_string(),
        Value::Nil => format!("flows{}", number + 1),
        Value::String(name) => name.to_string_lossy(),
        _ => return Err(bad("field 'name': string expected")),
    };
    if flows.described().iter().any(|other| other.name == name) {
        return Err(bad(&format!("there is another flow table '{name}'")));
    }
    let idle = idle(&option("idle")?)?;
    let key_code = function.as_ref().map(|function| function.dump(true)).unwrap_or_default();
    let handler = handler(lua, &key).map_err(said)?;
    let error: Function = lua.globals().raw_get("error").map_err(said)?;
    let handler: Function = handler.call((call, number, default, function, error)).map_err(said)?;
    let handle = handle(lua, methods, &handler).map_err(said)?;
    let globals = globals.clone();
    Ok(Made { name, key, key_code, capacity, idle, handle, handler, globals, flows: Default::default() })
}

/// What keys are made of, and the script's function if it is one.
fn key_option(value: Value) -> Result<(KeyKind, Option<Function>), String> {
    let expected = || bad("field 'key': \"5tuple\", list of fields or function expected");
    let named = |name: &str| {
        let names: Vec<&str> = field_names().collect();
        Field::named(name).ok_or_else(|| bad(&format!("field 'key': no '{name}', but {}", names.join(", "))))
    };
    let kind = match value {
        Value::String(name) if name.as_bytes() == b"5tuple" => KeyKind::five_tuple(),
        Value::String(name) => KeyKind::Fields(vec![named(&name.to_string_lossy())?]),
        Value::Table(list) => {
            let names = list.sequence_values::<String>().collect::<mlua::Result<Vec<_>>>();
            let fields = names
                .map_err(|_| expected())?
                .iter()
                .map(|name| named(name))
                .collect::<Result<Vec<_>, _>>()?;
            let is_twice = |(at, field): (usize, &Field)| fields[..at].contains(field);
            if let Some(twice) = fields.iter().enumerate().position(is_twice) {
                return Err(bad(&format!("field 'key': '{}' is there twice", fields[twice].name)));
            }
            KeyKind::Fields(fields)
        }
        Value::Function(function) => return Ok((KeyKind::Values, Some(function))),
        _ => return Err(expected()),
    };
    if kind.is_possible() { Ok((kind, None)) } else { Err(expected()) }
}

fn idle(value: &Value) -> Result<Option<u32>, String> {
    let seconds = match value {
        Value::Nil => return Ok(None),
        Value::Integer(seconds) => *seconds as f64,
        Value::Number(seconds) => *seconds,
        _ => -1.0,
    };
    let ticks = seconds * 1000.0 / f64::from(FlowTable::TICK);
    let fits = (1.0..f64::from(u32::MAX)).contains(&ticks);
    fits.then_some(Some(ticks.ceil() as u32)).ok_or_else(|| {
        bad(&format!(
            "field 'idle': number of seconds, {} or more, expected",
            f64::from(FlowTable::TICK) / 1000.0
        ))
    })
}

/// What the script has of the table: methods, and in handlers it can be called.
fn handle(lua: &Lua, methods: &Table, handler: &Function) -> mlua::Result<Table> {
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", methods)?;
    metatable.raw_set("__metatable", false)?;
    let error: Function = lua.globals().raw_get("error")?;
    let assigned =
        lua.load("local error = ... return function() error(\"flows are set by ':set(key, f)'\", 2) end");
    metatable.raw_set("__newindex", assigned.set_name("=moonhook").call::<Function>(error)?)?;
    let called = lua.load("local handler = ... return function(_, ...) return handler(...) end");
    metatable.raw_set("__call", called.set_name("=moonhook").call::<Function>(handler)?)?;
    let handle = lua.create_table()?;
    handle.set_metatable(Some(metatable))?;
    Ok(handle)
}

/// An integer, or a float that is one.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(integer) => Some(*integer),
        Value::Number(float) if float.fract() == 0.0 && float.abs() < 9e18 => Some(*float as i64),
        _ => None,
    }
}

fn bad(problem: &str) -> String {
    format!("bad argument #1 to 'new' ({problem})")
}

/// The message of an error, without the calls of this crate's that led to it: `mlua` puts those behind what was raised.
pub(super) fn said(error: mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => said((*cause).clone()),
        mlua::Error::RuntimeError(message) => {
            message.split("\nstack traceback:").next().unwrap_or_default().to_string()
        }
        error => error.to_string(),
    }
}
