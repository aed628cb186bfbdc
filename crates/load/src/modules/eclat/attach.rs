//! Whole scripts as handlers: each loader is one, or, of a script that has none, its chain `main`.

use mlua::{Function, Lua, Variadic};
use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::ast::Source;
use moonhook_eclat::token::At;
use moonhook_eclat::tree::{Chains, Datum};
use moonhook_hook::{Point, XDP};
use moonhook_snapshot::{LoadedCallee, LoadedLoader};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::flow::said;
use super::{Calls, function_names};
use crate::map_contents::FIRST_CHAIN;
use crate::registry::{Registration, Registry};

/// The chain of a script without loaders.
const MAIN: &str = "main";

/// Registers the handlers that a script is, at XDP.
pub fn attach(lua: &Lua, registry: &Registry, calls: &Calls, script: &Arc<Chains>) -> Result<(), String> {
    let loaders = loaders(script);
    let called = registry.chains.functions(script);
    let mut functions = Vec::new();
    for (loader, at) in &loaders {
        let number = add_loader(registry, script, *loader)?;
        functions.push(handler(lua, &calls.loader, number, (script, *at, &called)));
    }
    if loaders.is_empty() {
        let main = script.chains.iter().position(|chain| chain.name == MAIN && chain.parameters == 0);
        let main = main.ok_or_else(|| {
            let message = format!("{} has no loader, and no chain '{MAIN}' without parameters", script.file);
            let help = "import a loader and attach it, or call the first chain `main`";
            registry.chains.refuse(Box::new(Diagnostic::new("MH0315", message).help(help)))
        })?;
        let number = add_loader_of_chain(registry, script, main)?;
        functions.push(handler(lua, &calls.loader, number, (script, script.chains[main].at, &called)));
    }
    for function in functions {
        let point = Point::at_interface(&XDP);
        registry.handlers.all.borrow_mut().push(Registration { point, function: function.map_err(said)? });
    }
    Ok(())
}

/// The loaders that the script attaches, each once; where it attaches none, all.
fn loaders(script: &Chains) -> Vec<(usize, At)> {
    let mut loaders: Vec<(usize, At)> = Vec::new();
    for attachment in &script.attachments {
        if !loaders.iter().any(|(known, _)| *known == attachment.program) {
            loaders.push((attachment.program, attachment.at));
        }
    }
    if loaders.is_empty() {
        let all = script.programs.iter().enumerate();
        let is_loader =
            |(_, program): &(usize, &moonhook_eclat::tree::Program)| program.source == Source::Loaders;
        loaders.extend(all.filter(is_loader).map(|(number, program)| (number, program.at)));
    }
    loaders
}

/// Adds a loader, with the chains that it can start.
fn add_loader(registry: &Registry, script: &Arc<Chains>, loader: usize) -> Result<usize, String> {
    let mut chains = Vec::new();
    for chain in startable(script) {
        chains.push((chain as u64 + FIRST_CHAIN, registry.chains.add(script, chain)?));
    }
    let program = match registry.chains.programs(script)[loader] {
        LoadedCallee::Object(program) => program,
        LoadedCallee::Lua { .. } => return Err("a loader is a program in C".into()),
    };
    Ok(registry.chains.add_loader(LoadedLoader {
        script: Arc::clone(script),
        program: Some(program),
        chains,
    }))
}

fn add_loader_of_chain(registry: &Registry, script: &Arc<Chains>, chain: usize) -> Result<usize, String> {
    let chains = vec![(0, registry.chains.add(script, chain)?)];
    Ok(registry.chains.add_loader(LoadedLoader { script: Arc::clone(script), program: None, chains }))
}

/// The chains that maps name; where none does, all that have no parameters.
fn startable(script: &Chains) -> BTreeSet<usize> {
    let data = script.contents.iter().flat_map(|contents| &contents.entries).flatten().flatten();
    let named: BTreeSet<usize> = data
        .filter_map(|datum| match datum {
            Datum::Chain(number) => Some(*number),
            Datum::Number(_) | Datum::Text(_) => None,
        })
        .collect();
    let plain = || (0..script.chains.len()).filter(|number| script.chains[*number].parameters == 0).collect();
    if named.is_empty() { plain() } else { named }
}

/// A handler that calls a loader, with the functions in Lua that its chains may call; messages are about the line where the script attaches it.
fn handler(
    lua: &Lua,
    call: &Function,
    number: usize,
    (script, at, called): (&Chains, At, &[Function]),
) -> mlua::Result<Function> {
    let lines = "\n".repeat(at.line.saturating_sub(1) as usize);
    let names = function_names(called.len());
    let text = format!(
        "local call, number{names} = ... {lines}return function(pkt) return call(number, pkt{names}) end"
    );
    let made = lua.load(text).set_name(format!("@{}", script.file)).into_function()?;
    made.call((call, number, Variadic::from_iter(called.iter().cloned())))
}
