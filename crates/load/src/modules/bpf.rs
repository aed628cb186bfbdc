//! `require "bpf"`: functions and maps of C objects (docs/objects.md).

mod access;
mod checks;
mod signature;
mod text;

pub(super) use signature::of_map;

use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_diagnostic::Diagnostic;
use moonhook_library::own::bpf::{CALL, DELETE, GET, SET};
use moonhook_link::{Linkage, Object};
use moonhook_snapshot::{LoadedMap, LoadedProgram};
use std::sync::Arc;

use super::flow::said;
use super::module::{Context, Module, type_error};
use crate::registry::Registry;

pub(super) const MODULE: Module = Module { name: "bpf", open };

/// The name in the registry of what calls functions of objects: whoever runs handlers puts it there. It gets the function's number and the
/// arguments.
pub const CALL_OBJECT: &str = "moonhook.call_object";

/// What handlers call.
#[derive(Clone)]
struct Calls {
    call: Function,
    /// Of maps: reading, writing, removing, and going through all.
    get: Function,
    set: Function,
    delete: Function,
    each: Function,
}

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let find =
        context.lua.create_function(|lua, ()| lua.named_registry_value::<Option<Function>>(CALL_OBJECT))?;
    let call: Function = context.chunk::<Function>(include_str!("bpf.lua"))?.call(find)?;
    context.names.add_function(CALL.name, call.clone());
    let registry = context.registry.clone();
    let each = access::each(context.lua, &registry)?;
    let calls = Calls {
        call,
        get: context.values_function(GET.name, access::get(&registry))?,
        set: context.function(SET.name, access::set(&registry))?,
        delete: context.function(DELETE.name, access::delete(&registry))?,
        each: context.chunk::<Function>(include_str!("each.lua"))?.call(each)?,
    };
    let globals = context.globals.clone();
    let object = context.function("bpf.object", move |lua, arguments| {
        if registry.declared.is_closed() {
            return Err("objects are loaded at load time, before packets arrive".to_string());
        }
        let Some(Value::String(file)) = arguments.first() else {
            return Err(type_error(arguments, 1, "object", "string"));
        };
        let file = file.to_string_lossy();
        let bytes = super::updates::bytes(&globals, &file)?;
        let number = Object::read(&bytes, &file).map_err(|error| Box::new(error.diagnostic()));
        let number = number.and_then(|object| registry.chains.add_object(&file, object));
        let number = number.map_err(|diagnostic| registry.chains.refuse(diagnostic))?;
        contents(lua, &registry, &calls, number).map(Value::Table)
    })?;
    table.raw_set("object", object)?;
    Ok(table)
}

/// The table that stands for an object: its functions by their names, and its maps.
fn contents(lua: &Lua, registry: &Registry, calls: &Calls, number: usize) -> Result<Table, String> {
    let object = registry.chains.object_at(number);
    let [table, maps, refused] = [(); 3].map(|()| lua.create_table());
    let (table, maps, refused) = (table.map_err(said)?, maps.map_err(said)?, refused.map_err(said)?);
    for (index, function) in object.functions.iter().enumerate() {
        if function.linkage == Linkage::Static {
            continue;
        }
        match signature::of_function(&object, LoadedProgram { object: number, function: index }) {
            Ok(signature) => {
                let text = text::function(&signature, &function.name);
                let own = registry.chains.add_function(signature.function);
                let made: Function = made(lua, &text)?.call((&calls.call, own)).map_err(said)?;
                table.raw_set(function.name.as_str(), made).map_err(said)?;
            }
            Err(problem) => note(&refused, &object, ("function", &function.name), &problem)?,
        }
    }
    for (index, map) in object.maps.iter().enumerate() {
        match signature::of_map(&object, map) {
            Ok(parts) => {
                let text = text::map(&map.name, &parts);
                let [key, value] = parts.map(|parts| parts.iter().map(|part| part.leaf).collect());
                let own = registry.chains.add_map(LoadedMap { object: number, map: index, key, value });
                let arguments = (&calls.get, &calls.set, &calls.delete, &calls.each, own);
                let made: Table = made(lua, &text)?.call(arguments).map_err(said)?;
                maps.raw_set(map.name.as_str(), made).map_err(said)?;
            }
            Err(problem) => note(&refused, &object, ("map", &map.name), &problem)?,
        }
    }
    for (table, what) in [(&table, "function"), (&maps, "map")] {
        let metatable = lua.create_table().map_err(said)?;
        metatable.raw_set("__index", missing(lua, registry, (&object, &refused), what)?).map_err(said)?;
        table.set_metatable(Some(metatable)).map_err(said)?;
    }
    table.raw_set("maps", maps).map_err(said)?;
    Ok(table)
}

/// Keeps why a function or a map cannot be used.
fn note(refused: &Table, object: &Object, (what, name): (&str, &str), problem: &str) -> Result<(), String> {
    let message = format!("the {what} '{name}' of {} {problem}", object.name);
    refused.raw_set(format!("{what} {name}"), message).map_err(said)
}

/// Text in Lua that is nobody's script, as a function.
fn made(lua: &Lua, text: &str) -> Result<Function, String> {
    let function = lua.load(text).set_name("=moonhook").into_function().map_err(said)?;
    let stripped = function.dump(true);
    let made = lua.load(stripped).set_name("=moonhook").set_mode(mlua::chunk::ChunkMode::Binary);
    made.into_function().map_err(said)
}

/// Raises, for a name that an object does not have, or has in a way that cannot be used, an error that says so.
fn missing(
    lua: &Lua,
    registry: &Registry,
    (object, refused): (&Arc<Object>, &Table),
    what: &'static str,
) -> Result<Function, String> {
    let (registry, refused, object) = (registry.clone(), refused.clone(), Arc::clone(object));
    let find = move |_: &Lua, arguments: MultiValue| -> Result<MultiValue, String> {
        let name = arguments.get(1).map_or(Ok(String::new()), Value::to_string).map_err(said)?;
        let known: Option<String> = refused.raw_get(format!("{what} {name}")).map_err(said)?;
        let message = known.unwrap_or_else(|| format!("{} has no {what} '{name}'", object.name));
        let help = "`bpftool btf dump file` shows what the object has, and of which types";
        Err(registry.chains.refuse(Box::new(Diagnostic::new("MH0317", message).help(help))))
    };
    crate::functions::raising(lua, find).map_err(said)
}
