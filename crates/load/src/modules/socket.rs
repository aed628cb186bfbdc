//! `require "socket"`: registers filters for copies of an interface's frames, and functions that get what they keep.

use super::attach::{add_detach, add_points};
use super::module::{Context, Module, type_error};
use crate::registry::Request;
use mlua::{Table, Value};
use moonhook_hook::{Point, SOCKET};
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "socket", open };

const FILTER: &str = "socket.filter";

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let requests = context.registry.requests.clone();
    add_points(context, &table, FILTER, move |arguments| {
        let Some(Value::Function(filter)) = arguments.first() else {
            return Err(type_error(arguments, 1, key(FILTER), "function"));
        };
        match arguments.get(1) {
            None | Some(Value::Nil) => {}
            Some(Value::Function(receive)) => {
                let event = SOCKET.name.as_bytes().to_vec();
                requests.add(Request::Listen { event, function: receive.clone() });
            }
            Some(_) => return Err(type_error(arguments, 2, key(FILTER), "function")),
        }
        Ok((vec![Point::at_interface(&SOCKET)], Value::Function(filter.clone())))
    })?;
    add_detach(context, &table, "socket.detach", &[&SOCKET])?;
    Ok(table)
}
