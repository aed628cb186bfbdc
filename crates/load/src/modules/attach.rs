//! Registering handlers, which is what every module of a hook is for. As a script may have several handlers, they all stay, in order.

use mlua::{Function, Lua, Table, Value};
use moonhook_hook::{Hook, NETFILTER, Place, Point};
use moonhook_library::key;

use super::module::{Context, type_error};
use crate::registry::{Given, Registration};

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
    // Takes the place of a handler that is only given later.
    let undefined: Function = context.chunk("return function() end")?;
    context.registers = true;
    context.function(name, move |lua, arguments| {
        if declared.is_closed() {
            return Err("handlers are registered at load time, before packets arrive".to_string());
        }
        let (points, handler) = points(&flows.with_handlers(arguments))?;
        let is_of_lunatik = lunatik.is_some() && points.iter().any(|point| point.hook == &NETFILTER);
        let table = arguments.first().and_then(Value::as_table).filter(|_| is_of_lunatik);
        let given = table.map(|table| Given { table: table.clone(), at: position(lua) });
        let function = match handler {
            Value::Function(function) => function,
            _ if given.is_some() => undefined.clone(),
            _ => return Ok(Value::Nil),
        };
        if is_library_function(&function) && !flows.has(&function) && function != undefined {
            return Err(format!("bad argument to '{}' (a function written in Lua expected)", key(name)));
        }
        let mut all = all.borrow_mut();
        for point in points {
            match &lunatik {
                Some(lunatik) => lunatik
                    .register(&mut all, earlier, point, (&function, given.as_ref()))
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

/// The line of a file that calls a function of ours: the innermost one.
fn position(lua: &Lua) -> Option<(String, u32)> {
    (0..LEVELS).find_map(|level| {
        let place = lua.inspect_stack(level, |activation| {
            let source = activation.source().source?.strip_prefix('@')?.to_string();
            Some((source, u32::try_from(activation.current_line()?).ok()?))
        });
        place.flatten()
    })
}

/// Calls that may be between a script and the function of ours: that of [`crate::functions::raising`], and those of who hands it on.
const LEVELS: usize = 20;

/// A C function, or one of ours in Lua, whose chunk is stripped of its name; scripts cannot load stripped chunks.
fn is_library_function(function: &Function) -> bool {
    let info = function.info();
    info.what == "C" || info.source.as_deref() == Some("=?")
}
