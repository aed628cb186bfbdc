//! `require "data"`: bytes with layouts, as in luadata, and by offset, as in Lunatik (docs/data.md).
//!
//! Objects are tables, and what they do is Lua, compiled like the script's own. Handlers of a script that has asked for the module get such
//! an object in the place of a packet, which reads as the packet does.

use mlua::{Function, Table, Value};
use moonhook_library::methods_of;
use moonhook_library::own::data::{HANDLED, LAYOUTS, MEMBERS, PEEKS, POKES, WRITABLE};

use super::byteorder::converted;
use super::module::{Context, Module, integer};
use crate::flows::Flows;
use crate::lunatik::WINDOWS;
use crate::packet_time::hook;
use crate::registry::Registration;
use moonhook_library::own::byteorder::conversion;

/// What scripts give to `require`.
const NAME: &str = "data";

pub(super) const MODULE: Module = Module { name: NAME, open };

/// Conversions to network order, by how many bytes they are about.
const SWAPS: [(i64, &str); 3] = [(2, "byteorder.hton16"), (4, "byteorder.hton32"), (8, "byteorder.hton64")];

fn open(context: &mut Context) -> mlua::Result<Table> {
    let lua = context.lua;
    // Objects are made by it at packet time, too.
    context.names.add_function("setmetatable", lua.globals().get("setmetatable")?);
    let chunk: Table = context.chunk(include_str!("data.lua"))?;
    let layouts: Table = context.chunk(LAYOUTS)?;
    let own: Table = chunk.get("own")?;
    for (rows, what) in [(PEEKS, "peek"), (POKES, "poke")] {
        let functions: Table = own.get(what)?;
        for (name, width) in rows {
            context.names.add_function(name, functions.get(width as i64)?);
        }
    }
    let writable =
        context.function(WRITABLE, |_, _| Ok(Value::Boolean(hook().is_some_and(|hook| hook.can_write()))))?;
    let handled = context.function(HANDLED, |_, _| Ok(Value::Boolean(hook().is_some())))?;
    let swaps = lua.create_table()?;
    for (size, name) in SWAPS {
        let Some(swap) = conversion(name) else { continue };
        let function = context.function(name, move |lua, arguments| {
            Ok(Value::Integer(converted(integer(lua, arguments, 1, name)?, swap)))
        })?;
        swaps.raw_set(size, function)?;
    }
    let least = i64::from(context.registry.lunatik.is_some());
    let (module, around, plain, windows): (Table, Function, Function, Table) =
        chunk.get::<Function>("make")?.call((writable, handled, swaps, members(context)?, least, layouts))?;
    lua.set_named_registry_value(AROUND, around)?;
    lua.set_named_registry_value(PLAIN, plain)?;
    lua.set_named_registry_value(WINDOWS, windows)?;
    Ok(module)
}

/// What packets have, by name: a field or a method.
fn members(context: &Context) -> mlua::Result<Table> {
    let members = context.lua.create_table()?;
    for name in MEMBERS {
        members.raw_set(name, "field")?;
    }
    for function in methods_of("data").iter().flat_map(|library| library.functions) {
        members.raw_set(function.key(), "method")?;
    }
    Ok(members)
}

/// The name in the registry of what makes handlers of the present script's functions.
const AROUND: &str = "moonhook.data_objects";

/// The name there of what makes objects for Moonhook's own Lua.
const PLAIN: &str = "moonhook.plain_data_object";

/// Where the module is open, what makes an object of a packet, or of the bytes of a string if the first argument is false.
pub(crate) fn plain(lua: &mlua::Lua) -> mlua::Result<Function> {
    lua.named_registry_value(PLAIN)
}

/// Has handlers of a script whose modules are `loaded` given objects in the place of packets, if it has asked for the module. Handlers of flow tables
/// are not the script's: functions of flows get packets.
pub(crate) fn give_objects(
    lua: &mlua::Lua,
    loaded: &Table,
    (registrations, flows): (&mut [Registration], &Flows),
) -> mlua::Result<()> {
    if !loaded.contains_key(NAME)? {
        return Ok(());
    }
    let around: Function = lua.named_registry_value(AROUND)?;
    let takes_one = |known: &&mut Registration| known.point.hook.has_packet() && !flows.has(&known.function);
    for registration in registrations.iter_mut().filter(takes_one) {
        let object_handler: Function = around.call(&registration.function)?;
        let written = std::mem::replace(&mut registration.function, object_handler);
        registration.written.get_or_insert(written);
    }
    Ok(())
}
