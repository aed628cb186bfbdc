//! Chains that call functions in Lua are functions in Lua themselves.

use mlua::{Function, Lua, Table};
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
    if callers.is_empty() {
        return Ok(InLua::new());
    }
    let mut callees = Called { registry, script, programs: &programs, chains: HashMap::new() };
    let written = lua::write(script, &callers, &mut callees);
    made((lua, call), (script, &callers), (&written, &named(registry, script, &programs))).map_err(|error| {
        let Chain { name, at, .. } = &script.chains[too_large(lua, (script, &callers), &programs)];
        let problem = super::super::flow::said(error);
        let message = format!("chains that call functions in Lua become Lua, which says: {problem}");
        let help = "make several chains of it: one has some 180 variables there, and 60 blocks within blocks";
        placed(Diagnostic::new("MH0323", message).help(help), (script, text), (*at, name))
    })
}

/// The functions that the text of chains in Lua gives; it gets those that these call.
fn made(
    (lua, call): (&Lua, &Function),
    (script, callers): (&Chains, &[usize]),
    (written, called): (&str, &[(&str, Function)]),
) -> mlua::Result<InLua> {
    let functions = lua.create_table()?;
    for (name, function) in called {
        functions.raw_set(*name, function)?;
    }
    let chunk = lua.load(written).set_name(format!("@{}", script.file)).into_function()?;
    let chains: Table = chunk.call((call, functions))?;
    callers.iter().map(|number| Ok((*number, chains.raw_get(&*script.chains[*number].name)?))).collect()
}

/// The functions in Lua that a script's chains call, by the names of programs.
fn named<'a>(
    registry: &Registry,
    script: &'a Arc<Chains>,
    programs: &[LoadedCallee],
) -> Vec<(&'a str, Function)> {
    let functions = registry.chains.functions(script);
    let named = script.programs.iter().zip(programs).filter_map(|(program, callee)| match callee {
        LoadedCallee::Lua { number, .. } => Some((program.name.as_str(), functions.get(*number)?.clone())),
        LoadedCallee::Object(_) => None,
    });
    named.collect()
}

/// The first chain that Lua does not take by itself.
fn too_large(lua: &Lua, (script, callers): (&Chains, &[usize]), programs: &[LoadedCallee]) -> usize {
    let is_too_large = |number: &&usize| {
        let written = lua::write(script, &[**number], &mut Alone(programs));
        lua.load(written).into_function().is_err()
    };
    callers.iter().find(is_too_large).or(callers.first()).copied().unwrap_or_default()
}

fn function(programs: &[LoadedCallee], program: usize) -> Option<lua::Function> {
    match programs.get(program) {
        Some(LoadedCallee::Lua { takes_packet, .. }) => Some(lua::Function { takes_packet: *takes_packet }),
        Some(LoadedCallee::Object(_)) | None => None,
    }
}

/// What chains call that are only read: nothing is added for them.
struct Alone<'a>(&'a [LoadedCallee]);

impl Callees for Alone<'_> {
    fn function(&self, program: usize) -> Option<lua::Function> {
        function(self.0, program)
    }

    fn chain(&mut self, number: usize) -> usize {
        number
    }

    fn step(&mut self, _: Chain) -> usize {
        0
    }
}

/// What chains in Lua call.
struct Called<'a> {
    registry: &'a Registry,
    script: &'a Arc<Chains>,
    programs: &'a [LoadedCallee],
    /// Numbers of other chains that were asked for.
    chains: HashMap<usize, usize>,
}

impl Callees for Called<'_> {
    fn function(&self, program: usize) -> Option<lua::Function> {
        function(self.programs, program)
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
