//! Registering handlers, which is what every module of a hook is for. As a script may have several handlers, they all stay, in order.

use mlua::{Function, Table, Value};
use moonhook_hook::{Hook, Place, Point};
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
    add_at(context, table, (name, hook), 1, |_| Ok(Place::Interface))
}

/// The same of a function whose argument `number` is what it registers, at the place that `place` finds in the arguments.
pub(super) fn add_at(
    context: &mut Context,
    table: &Table,
    (name, hook): (&'static str, &'static Hook),
    number: usize,
    place: impl Fn(&[Value]) -> Result<Place, String> + 'static,
) -> mlua::Result<()> {
    let flows = context.registry.flows.clone();
    let points = move |arguments: &[Value]| {
        let place = place(arguments)?;
        match arguments.get(number - 1) {
            Some(Value::Function(function)) if is_library_function(function) && !flows.has(function) => {
                Err(format!("bad argument #{number} to '{}' (a function written in Lua expected)", key(name)))
            }
            Some(Value::Function(function)) => {
                Ok((vec![Point::at(hook, place)], Value::Function(function.clone())))
            }
            _ => Err(type_error(arguments, number, key(name), "function")),
        }
    };
    add_points(context, table, name, points)
}

/// The same of a function in whose arguments `points` finds the places and the handler.
pub(super) fn add_points(
    context: &mut Context,
    table: &Table,
    name: &'static str,
    points: impl Fn(&[Value]) -> Result<(Vec<Point>, Value), String> + 'static,
) -> mlua::Result<()> {
    let attach = registering(context, name, points)?;
    table.raw_set(key(name), attach)
}

/// A function with this canonical name that registers a handler: `points` finds the places and the handler in its arguments.
pub(crate) fn registering(
    context: &mut Context,
    name: &'static str,
    points: impl Fn(&[Value]) -> Result<(Vec<Point>, Value), String> + 'static,
) -> mlua::Result<Function> {
    let all = context.registry.handlers.all.clone();
    let declared = context.registry.declared.clone();
    let flows = context.registry.flows.clone();
    let lunatik = context.registry.lunatik.clone();
    let earlier = context.registry.handlers.earlier;
    context.function(name, move |_, arguments| {
        if declared.is_closed() {
            return Err("handlers are registered at load time, before packets arrive".to_string());
        }
        let (points, handler) = points(&flows.with_handlers(arguments))?;
        let Value::Function(function) = handler else { return Ok(Value::Nil) };
        if is_library_function(&function) && !flows.has(&function) {
            return Err(format!("bad argument to '{}' (a function written in Lua expected)", key(name)));
        }
        let mut all = all.borrow_mut();
        for point in points {
            match &lunatik {
                Some(lunatik) => lunatik
                    .register(&mut all, earlier, point, &function)
                    .map_err(|error| error.to_string())?,
                None => all.push(Registration::new(point, function.clone())),
            }
        }
        Ok(Value::Nil)
    })
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
            index <= earlier || !hooks.contains(&registration.point.hook)
        });
        Ok(Value::Nil)
    })?;
    table.raw_set(key(name), detach)
}

/// A C function, or one of ours in Lua, whose chunk is stripped of its name; scripts cannot load stripped chunks.
fn is_library_function(function: &Function) -> bool {
    let info = function.info();
    info.what == "C" || info.source.as_deref() == Some("=?")
}
