//! `require "xsk"`: functions of control code that take the frames which handlers send to sockets, and sending frames from there.

use super::module::{Context, Module, type_error};
use crate::functions::userdata_name;
use crate::registry::{Port, Request};
use mlua::{Function, Lua, LuaString, Table, Value};
use moonhook_hook::targets::QUEUES;
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "xsk", open };

const RECEIVE: &str = "xsk.receive";
const SEND: &str = "xsk.send";

/// The name of the event that a frame of a queue is.
pub fn event(queue: u32) -> Vec<u8> {
    format!("{RECEIVE} {queue}").into_bytes()
}

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let registry = context.registry.clone();
    let receive = context.function(RECEIVE, move |_, arguments| {
        if registry.declared.is_closed() {
            return Err("functions for queues are registered at load time, before packets arrive".to_string());
        }
        let queue = match arguments.first() {
            Some(Value::Integer(queue)) => u32::try_from(*queue).ok().filter(|queue| *queue < QUEUES),
            _ => return Err(type_error(arguments, 1, key(RECEIVE), "integer")),
        };
        let Some(queue) = queue else {
            return Err(format!("bad argument #1 to '{}' (number of a queue expected)", key(RECEIVE)));
        };
        let Some(Value::Function(function)) = arguments.get(1) else {
            return Err(type_error(arguments, 2, key(RECEIVE), "function"));
        };
        registry.receivers.add(queue, function);
        registry.requests.add(Request::Listen { event: event(queue), function: function.clone() });
        Ok(Value::Nil)
    })?;
    table.raw_set(key(RECEIVE), receive)?;
    let requests = context.registry.requests.clone();
    let text: Function = context.lua.globals().raw_get("tostring")?;
    let send = context.function(SEND, move |lua, arguments| {
        let port = port(arguments)?;
        let frame = frame(lua, arguments, &text)?;
        let Some(send) = requests.sender() else {
            return Err("frames are sent by control code, once the script runs".to_string());
        };
        send(&port, &frame.as_bytes()).map(|()| Value::Nil)
    })?;
    table.raw_set(key(SEND), send)?;
    Ok(table)
}

fn port(arguments: &[Value]) -> Result<Port, String> {
    match arguments.first() {
        Some(Value::String(name)) => Ok(Port::Name(name.to_string_lossy())),
        Some(Value::Integer(number)) => match i32::try_from(*number) {
            Ok(number) if number > 0 => Ok(Port::Number(number.unsigned_abs())),
            _ => Err(format!("bad argument #1 to '{}' (number of an interface expected)", key(SEND))),
        },
        _ => Err(type_error(arguments, 1, key(SEND), "string")),
    }
}

/// A string, or the bytes of a packet.
fn frame(lua: &Lua, arguments: &[Value], text: &Function) -> Result<LuaString, String> {
    match arguments.get(1) {
        Some(Value::String(frame)) => Ok(frame.clone()),
        Some(packet) if userdata_name(lua, packet).as_deref() == Some("data") => {
            text.call(packet.clone()).map_err(|error| error.to_string())
        }
        _ => Err(type_error(arguments, 2, key(SEND), "string")),
    }
}
