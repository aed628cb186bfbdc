//! Chains that call functions in Lua are functions in Lua themselves.

use mlua::{Function, Lua, MultiValue, Value};
use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::lua::{self, Callees};
use moonhook_eclat::tree::{Chain, Chains};
use moonhook_snapshot::LoadedCallee;
use std::collections::HashMap;
use std::sync::Arc;

use super::script::placed;
use crate::registry::Registry;

/// By the number of a chain that calls functions in Lua, the function that it is: of the packet and the chain's arguments.
pub type InLua = HashMap<usize, Function>;

/// These functions of a script that was added; `call` calls chains.
///
/// # Errors
/// A chain is more than Lua takes.
pub fn functions(
    (lua, registry, call): (&Lua, &Registry, &Function),
    script: &Arc<Chains>,
    text: &str,
) -> Result<InLua, Box<Diagnostic>> {
    let programs = registry.chains.programs(script);
    let callers =
        lua::callers(script, |program| matches!(programs.get(program), Some(LoadedCallee::Lua { .. })));
    let Some(&first) = callers.first() else { return Ok(InLua::new()) };
    let called = registry.chains.functions(script);
    let mut callees =
        Called { registry, script, programs: &programs, functions: called.len(), chains: HashMap::new() };
    let written = lua::write(script, &callers, &mut callees);
    let chunk = lua.load(written).set_name(format!("@{}", script.file));
    let values = [call.clone()].into_iter().chain(called).map(Value::Function).collect::<MultiValue>();
    let made: mlua::Result<MultiValue> = chunk.into_function().and_then(|function| function.call(values));
    let made = made.map_err(|error| {
        let Chain { name, at, .. } = &script.chains[first];
        let problem = super::super::flow::said(error);
        let message = format!("chains that call functions in Lua become Lua, which says: {problem}");
        let help = "make several chains of it: one has some 180 variables there, and 60 blocks within blocks";
        placed(Diagnostic::new("MH0323", message).help(help), (script, text), (*at, name))
    })?;
    let functions = made.into_iter().filter_map(|value| match value {
        Value::Function(function) => Some(function),
        _ => None,
    });
    Ok(callers.into_iter().zip(functions).collect())
}

/// What chains in Lua call.
struct Called<'a> {
    registry: &'a Registry,
    script: &'a Arc<Chains>,
    programs: &'a [LoadedCallee],
    functions: usize,
    /// Numbers of other chains that were asked for.
    chains: HashMap<usize, usize>,
}

impl Callees for Called<'_> {
    fn function(&self, program: usize) -> Option<lua::Function> {
        match self.programs.get(program) {
            Some(LoadedCallee::Lua { number, takes_packet }) => {
                Some(lua::Function { number: *number, takes_packet: *takes_packet })
            }
            Some(LoadedCallee::Object(_)) | None => None,
        }
    }

    fn functions(&self) -> usize {
        self.functions
    }

    fn chain(&mut self, number: usize) -> usize {
        // The script was added: its chains can be.
        *self
            .chains
            .entry(number)
            .or_insert_with(|| self.registry.chains.add(self.script, number).unwrap_or(usize::MAX))
    }

    fn step(&mut self, chain: Chain) -> usize {
        self.registry.chains.add_step(self.script, chain)
    }
}
