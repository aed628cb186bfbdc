//! Registering handlers, which is what every module of a hook is for. As a script may have several handlers, they all stay, in order.

use mlua::{Function, Table, Value};
use moonhook_hook::Hook;
use moonhook_library::key;

use super::module::{Context, type_error};
use crate::registry::Registration;

/// Gives `table` a function with this canonical name that registers its argument for `hook`.
pub(super) fn add(
    context: &mut Context,
    table: &Table,
    name: &'static str,
    hook: &'static Hook,
) -> mlua::Result<()> {
    let all = context.registry.handlers.all.clone();
    let attach = context.function(name, move |_, arguments| match arguments.first() {
        Some(Value::Function(function)) if is_library_function(function) => {
            Err(format!("bad argument #1 to '{}' (a function written in Lua expected)", key(name)))
        }
        Some(Value::Function(function)) => {
            all.borrow_mut().push(Registration { hook, function: function.clone() });
            Ok(Value::Nil)
        }
        _ => Err(type_error(arguments, 1, key(name), "function")),
    })?;
    table.raw_set(key(name), attach)
}

/// Gives `table` a function with this canonical name that removes what the script has registered for the hooks.
pub(super) fn add_detach(
    context: &mut Context,
    table: &Table,
    name: &'static str,
    hooks: &'static [&'static Hook],
) -> mlua::Result<()> {
    let all = context.registry.handlers.all.clone();
    let earlier = context.registry.handlers.earlier;
    let detach = context.function(name, move |_, _| {
        let mut index = 0;
        all.borrow_mut().retain(|registration| {
            index += 1;
            index <= earlier || !hooks.contains(&registration.hook)
        });
        Ok(Value::Nil)
    })?;
    table.raw_set(key(name), detach)
}

/// A C function, or one of ours in Lua, whose chunk is stripped of its name; scripts cannot load stripped chunks.
pub(crate) fn is_library_function(function: &Function) -> bool {
    let info = function.info();
    info.what == "C" || info.source.as_deref() == Some("=?")
}
