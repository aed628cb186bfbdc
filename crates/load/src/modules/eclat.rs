//! `require "eclat"`: chains of eCLAT scripts as functions (docs/eclat.md).

use mlua::{Function, Lua, Table, Value};
use moonhook_eclat::tree::Chains;
use moonhook_library::own::eclat::CALL;
use moonhook_snapshot::{LoadedChain, Source};
use std::sync::Arc;

use super::flow::said;
use super::module::{Context, Module, type_error};
use super::updates::content;
use crate::registry::LoadedChains;

pub(super) const MODULE: Module = Module { name: "eclat", open };

/// The name in the registry of what runs a chain: whoever runs handlers puts it there. It gets the chain's number, the packet and the arguments.
pub const CALL_CHAIN: &str = "moonhook.call_chain";

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let call = caller(context)?;
    let (chains, globals) = (context.registry.chains.clone(), context.globals.clone());
    let declared = context.registry.declared.clone();
    let chain = context.function("eclat.chain", move |lua, arguments| {
        if declared.is_closed() {
            return Err("chains are loaded at load time, before packets arrive".to_string());
        }
        let [file, name] = [1, 2].map(|number| match arguments.get(number - 1) {
            Some(Value::String(text)) => Ok(text.to_string_lossy()),
            _ => Err(type_error(arguments, number, "chain", "string")),
        });
        let (file, name) = (file?, name?);
        let (script, text) = script(&mut chains.0.borrow_mut(), &globals, &file)?;
        let found = script.chains.iter().position(|chain| chain.name == name);
        let number = found.ok_or_else(|| format!("'{file}' has no chain '{name}'"))?;
        let mut known = chains.0.borrow_mut();
        let function = function(lua, &call, known.all.len(), script.chains[number].parameters);
        known.all.push(LoadedChain { script, number });
        known.sources.extend(text.map(|text| Source { name: file, text }));
        function.map(Value::Function).map_err(said)
    })?;
    table.raw_set("chain", chain)?;
    Ok(table)
}

/// The script in a file, and its text if it was not read before.
fn script(
    known: &mut LoadedChains,
    globals: &Table,
    file: &str,
) -> Result<(Arc<Chains>, Option<String>), String> {
    if let Some(known) = known.all.iter().find(|known| known.script.file == file) {
        return Ok((Arc::clone(&known.script), None));
    }
    let text = content(globals, file)?;
    let script = moonhook_eclat::read(&text, file).map_err(|diagnostic| {
        let message = diagnostic.line();
        known.refused.push((message.clone(), diagnostic));
        message
    })?;
    Ok((Arc::new(script), Some(text)))
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
