//! `require "xdp"`: registers handlers for the XDP hook. Names and behaviour are Lunatik's; as a script here may attach
//! several handlers, they all stay, in order.

use mlua::{Function, Table, Value};
use moonhook_hook::XDP;

use super::module::{Context, Module, type_error};
use crate::registry::Registration;

pub(super) const MODULE: Module = Module { name: "xdp", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;

    let all = context.registry.handlers.all.clone();
    let attach = context.function("xdp.attach", move |_, arguments| match arguments.first() {
        Some(Value::Function(function)) if is_library_function(function) => {
            Err("bad argument #1 to 'attach' (a function written in Lua expected)".into())
        }
        Some(Value::Function(function)) => {
            all.borrow_mut().push(Registration { hook: &XDP, function: function.clone() });
            Ok(Value::Nil)
        }
        _ => Err(type_error(arguments, 1, "attach", "function")),
    })?;
    table.raw_set("attach", attach)?;

    let all = context.registry.handlers.all.clone();
    let earlier = context.registry.handlers.earlier;
    let detach = context.function("xdp.detach", move |_, _| {
        let mut index = 0;
        all.borrow_mut().retain(|registration| {
            index += 1;
            index <= earlier || *registration.hook != XDP
        });
        Ok(Value::Nil)
    })?;
    table.raw_set("detach", detach)?;
    Ok(table)
}

/// A C function, or one of ours in Lua, whose chunk is stripped of its name; scripts cannot load stripped chunks.
pub(crate) fn is_library_function(function: &Function) -> bool {
    let info = function.info();
    info.what == "C" || info.source.as_deref() == Some("=?")
}
