//! `require "eclat"`: chains of eCLAT scripts as functions, and whole scripts as handlers (docs/eclat.md).

mod attach;
mod in_lua;
mod maps;
mod script;
mod startable;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table, Value};
use moonhook_eclat::tree::Chain;
use moonhook_library::own::eclat::{CALL, LOAD};

use super::bpf::checks;
use super::flow::said;
use super::module::{Context, Module, type_error};
use crate::registry::Registry;

pub(super) const MODULE: Module = Module { name: "eclat", open };

/// The names in the registry of what runs chains and loaders: whoever runs handlers puts it there. It gets the number of the chain or loader, the
/// packet and, of a chain, the arguments.
pub const CALL_CHAIN: &str = "moonhook.call_chain";
pub const CALL_LOADER: &str = "moonhook.call_loader";

/// What handlers call.
#[derive(Clone)]
struct Calls {
    chain: Function,
    loader: Function,
}

fn open(context: &mut Context) -> mlua::Result<Table> {
    context.registers = true;
    let table = context.lua.create_table()?;
    let calls = Calls {
        chain: caller(context, CALL.name, CALL_CHAIN)?,
        loader: caller(context, LOAD.name, CALL_LOADER)?,
    };
    let (registry, globals, own) = (context.registry.clone(), context.globals.clone(), calls.clone());
    let chain = context.function("eclat.chain", move |lua, arguments| {
        open_time(&registry, "chains are loaded")?;
        let [file, name] = [text(arguments, 1, "chain")?, text(arguments, 2, "chain")?];
        let script = script::read((lua, &registry, &globals), &own.chain, (&file, &file))?;
        let found = script.chains.iter().position(|chain| chain.name == name);
        let number = found.ok_or_else(|| format!("'{file}' has no chain '{name}'"))?;
        let body = match registry.chains.in_lua(&script, number) {
            Some(function) => Body::Lua(function),
            None => Body::Chain(registry.chains.add(&script, number)?),
        };
        function(lua, &own.chain, body, &script.chains[number]).map(Value::Function).map_err(said)
    })?;
    table.raw_set("chain", chain)?;
    let (registry, globals) = (context.registry.clone(), context.globals.clone());
    let attach = context.function("eclat.attach", move |lua, arguments| {
        open_time(&registry, "scripts are attached")?;
        let file = text(arguments, 1, "attach")?;
        let title = if arguments.len() > 1 { text(arguments, 2, "attach")? } else { file.clone() };
        let script = script::read((lua, &registry, &globals), &calls.chain, (&file, &title))?;
        attach::attach(lua, &registry, &calls, &script)?;
        if arguments.len() > 1 {
            // Run by itself: no Lua code calls other chains of it.
            startable::warn_of_idle(&registry, &script);
        }
        Ok(Value::Nil)
    })?;
    table.raw_set("attach", attach)?;
    Ok(table)
}

fn open_time(registry: &Registry, what: &str) -> Result<(), String> {
    match registry.declared.is_closed() {
        true => Err(format!("{what} at load time, before packets arrive")),
        false => Ok(()),
    }
}

fn text(arguments: &[Value], number: usize, function: &str) -> Result<String, String> {
    match arguments.get(number - 1) {
        Some(Value::String(text)) => Ok(text.to_string_lossy()),
        _ => Err(type_error(arguments, number, function, "string")),
    }
}

/// A function of the library that handlers call; in real Lua it calls what the registry has under that key.
fn caller(context: &mut Context, name: &'static str, key: &'static str) -> mlua::Result<Function> {
    let find =
        context.lua.create_function(move |lua, ()| lua.named_registry_value::<Option<Function>>(key))?;
    let call: Function = context.chunk::<Function>(include_str!("eclat.lua"))?.call(find)?;
    context.names.add_function(name, call.clone());
    Ok(call)
}

/// What a function of a chain calls.
enum Body {
    /// The chain, by its number.
    Chain(usize),
    /// The function that it is.
    Lua(Function),
}

/// A function of a packet and a chain's arguments.
fn function(
    lua: &Lua,
    call: &Function,
    body: Body,
    Chain { name, parameters, .. }: &Chain,
) -> mlua::Result<Function> {
    let names = &["a", "b", "c", "d"][..(*parameters).min(4)];
    let checked = checks::packet("pkt", &checks::argument(1, name));
    let integer = |(at, argument): (usize, &&str)| {
        format!(", {}", checks::integer(argument, &checks::argument(at + 2, name)))
    };
    let integers: String = names.iter().enumerate().map(integer).collect();
    let names: String = names.iter().map(|name| format!(", {name}")).collect();
    let (called, first) = match &body {
        Body::Chain(_) => ("call", "number, pkt"),
        Body::Lua(_) => ("chain", "pkt"),
    };
    let text = format!(
        "local call, number, chain = ... {}return function(pkt{names}) {checked}return {called}({first}{integers}) end",
        checks::HELPERS
    );
    // Without lines: what is wrong in it is nothing that a person could mend.
    let stripped = lua.load(text).into_function()?.dump(true);
    let made = lua.load(stripped).set_name("=moonhook").set_mode(ChunkMode::Binary).into_function()?;
    match body {
        Body::Chain(number) => made.call((call, number)),
        Body::Lua(chain) => made.call((Value::Nil, Value::Nil, chain)),
    }
}
