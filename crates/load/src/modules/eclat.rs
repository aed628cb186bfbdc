//! `require "eclat"`: chains of eCLAT scripts as functions (docs/eclat.md).

use mlua::{Function, Lua, Table, Value};
use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_eclat::tree::{Chains, Program};
use moonhook_library::own::eclat::CALL;
use moonhook_snapshot::LoadedProgram;
use std::sync::Arc;

use super::flow::said;
use super::module::{Context, Module, type_error};
use super::updates::content;
use crate::packages::program_of;
use crate::registry::Registry;

pub(super) const MODULE: Module = Module { name: "eclat", open };

/// The name in the registry of what runs a chain: whoever runs handlers puts it there. It gets the chain's number, the packet and the arguments.
pub const CALL_CHAIN: &str = "moonhook.call_chain";

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let call = caller(context)?;
    let (registry, globals) = (context.registry.clone(), context.globals.clone());
    let chain = context.function("eclat.chain", move |lua, arguments| {
        if registry.declared.is_closed() {
            return Err("chains are loaded at load time, before packets arrive".to_string());
        }
        let [file, name] = [1, 2].map(|number| match arguments.get(number - 1) {
            Some(Value::String(text)) => Ok(text.to_string_lossy()),
            _ => Err(type_error(arguments, number, "chain", "string")),
        });
        let (file, name) = (file?, name?);
        let script = script(&registry, &globals, &file)?;
        let found = script.chains.iter().position(|chain| chain.name == name);
        let number = found.ok_or_else(|| format!("'{file}' has no chain '{name}'"))?;
        let (chain, parameters) = (registry.chains.add(&script, number)?, script.chains[number].parameters);
        function(lua, &call, chain, parameters).map(Value::Function).map_err(said)
    })?;
    table.raw_set("chain", chain)?;
    Ok(table)
}

/// The script in a file, with the programs that its chains call.
fn script(registry: &Registry, globals: &Table, file: &str) -> Result<Arc<Chains>, String> {
    if let Some(known) = registry.chains.script(file) {
        return Ok(known);
    }
    let text = content(globals, file)?;
    let loaded = moonhook_eclat::read(&text, file).and_then(|script| {
        let programs = programs(registry, &script, &text)?;
        Ok((Arc::new(script), programs))
    });
    let (script, programs) = loaded.map_err(|diagnostic| registry.chains.refuse(diagnostic))?;
    registry.chains.add_script(&script, programs, text);
    Ok(script)
}

/// By program of the script, where it is.
fn programs(registry: &Registry, script: &Chains, text: &str) -> Result<Vec<LoadedProgram>, Box<Diagnostic>> {
    let mut programs = Vec::new();
    for Program { package, name, at, .. } in &script.programs {
        let placed = |diagnostic: Box<Diagnostic>| {
            let line = text.lines().nth(at.line as usize - 1).unwrap_or_default().to_string();
            let place = Place { file: script.file.clone(), line: at.line, text: line, name: Some(name.clone()) };
            Box::new(diagnostic.at(place))
        };
        let object = registry.chains.object(&*registry.packages, [package, name]).map_err(placed)?;
        let function = program_of(&registry.chains.0.borrow().objects[object].1).map_err(placed)?;
        programs.push(LoadedProgram { object, function });
    }
    Ok(programs)
}

/// What handlers call: `chain` of the library.
fn caller(context: &mut Context) -> mlua::Result<Function> {
    let find =
        context.lua.create_function(|lua, ()| lua.named_registry_value::<Option<Function>>(CALL_CHAIN))?;
    let call: Function = context.chunk::<Function>(include_str!("eclat.lua"))?.call(find)?;
    context.names.add_function(CALL.name, call.clone());
    Ok(call)
}

/// A function of a packet and a chain's arguments.
fn function(lua: &Lua, call: &Function, number: usize, parameters: usize) -> mlua::Result<Function> {
    let names: String =
        ["a", "b", "c", "d"].iter().take(parameters).map(|name| format!(", {name}")).collect();
    let text =
        format!("local call, number = ... return function(pkt{names}) return call(number, pkt{names}) end");
    // Without lines: what is wrong in it is nothing that a person could mend.
    let stripped = lua.load(text).into_function()?.dump(true);
    let made = lua.load(stripped).set_name("=moonhook").set_mode(mlua::chunk::ChunkMode::Binary);
    made.into_function()?.call((call, number))
}
