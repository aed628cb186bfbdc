//! `require "bpf"`: functions and maps of C objects (docs/c-objects.md).

mod access;
pub(super) mod checks;
mod signature;
mod text;

#[cfg(test)]
pub(crate) use signature::parts as parts_of;
pub(super) use signature::{Part, of_map};

use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_diagnostic::Diagnostic;
use moonhook_library::own::bpf::{CALL, DELETE, GET, KEYS, MEMBER, SET};
use moonhook_link::{Linkage, Object};
use moonhook_snapshot::{LoadedMap, LoadedProgram, ObjectTable};

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
    /// What tables have for names that objects do not have.
    member: Function,
}

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let find =
        context.lua.create_function(|lua, ()| lua.named_registry_value::<Option<Function>>(CALL_OBJECT))?;
    let call: Function = context.chunk::<Function>(include_str!("bpf.lua"))?.call(find)?;
    context.names.add_function(CALL.name, call.clone());
    let registry = context.registry.clone();
    let each = context.values_function(KEYS.name, access::each(&registry))?;
    let calls = Calls {
        call,
        get: context.values_function(GET.name, access::get(&registry))?,
        set: context.function(SET.name, access::set(&registry))?,
        delete: context.function(DELETE.name, access::delete(&registry))?,
        each: context.chunk::<Function>(include_str!("each.lua"))?.call(each)?,
        member: context.values_function(MEMBER.name, missing(&registry))?,
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
    let [table, maps] = [(); 2].map(|()| lua.create_table());
    let (table, maps) = (table.map_err(said)?, maps.map_err(said)?);
    let [mut functions, mut others] = [Vec::new(), Vec::new()];
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
            Err(problem) => functions.push((function.name.clone(), problem)),
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
            Err(problem) => others.push((map.name.clone(), problem)),
        }
    }
    for (table, what, refused) in [(&table, "function", functions), (&maps, "map", others)] {
        let known = ObjectTable { object: object.name.clone(), what, refused };
        let metatable = lua.create_table().map_err(said)?;
        metatable.raw_set("__index", &calls.member).map_err(said)?;
        metatable.raw_set(ObjectTable::NUMBER, registry.chains.add_object_table(known)).map_err(said)?;
        table.set_metatable(Some(metatable)).map_err(said)?;
    }
    table.raw_set("maps", maps).map_err(said)?;
    Ok(table)
}

/// Text in Lua that is nobody's script, as a function.
fn made(lua: &Lua, text: &str) -> Result<Function, String> {
    let function = lua.load(text).set_name("=moonhook").into_function().map_err(said)?;
    let stripped = function.dump(true);
    let made = lua.load(stripped).set_name("=moonhook").set_mode(mlua::chunk::ChunkMode::Binary);
    made.into_function().map_err(said)
}

/// Raises, for a name that an object does not have, or has in a way that cannot be used, an error that says so.
fn missing(registry: &Registry) -> impl Fn(&Lua, &[Value]) -> Result<MultiValue, String> + 'static {
    let registry = registry.clone();
    move |_, arguments| {
        let name = arguments.get(1).map_or(Ok(String::new()), Value::to_string).map_err(said)?;
        let metatable = arguments.first().and_then(Value::as_table).and_then(Table::metatable);
        let number = metatable.map(|table| table.raw_get::<usize>(ObjectTable::NUMBER)).transpose();
        let known = number.ok().flatten().and_then(|number| registry.chains.object_table(number));
        let message = known.map_or_else(|| format!("there is no '{name}'"), |known| known.problem(&name));
        let help = "`bpftool btf dump file` shows what the object has, and of which types";
        Err(registry.chains.refuse(Box::new(Diagnostic::new("MH0317", message).help(help))))
    }
}
