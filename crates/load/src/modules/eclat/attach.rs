//! Whole scripts as handlers: each loader is one, or, of a script that has none, its chain `main`.

use mlua::{Function, Lua};
use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::ast::Source;
use moonhook_eclat::token::At;
use moonhook_eclat::tree::{Attachment, Chains};
use moonhook_hook::{Place, Point, XDP};
use moonhook_snapshot::{LoadedCallee, LoadedLoader, LoadedProgram, Startable};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::flow::said;
use super::Calls;
use super::script::placed;
use super::startable::{check_parameters, startable};
use crate::map_contents::FIRST_CHAIN;
use crate::registry::{Registration, Registry};

/// The chain of a script without loaders.
const MAIN: &str = "main";

/// Registers the handlers that a script is, at XDP.
pub fn attach(lua: &Lua, registry: &Registry, calls: &Calls, script: &Arc<Chains>) -> Result<(), String> {
    let loaders = loaders(script);
    let text = registry.chains.text_of(&script.file).unwrap_or_default();
    check_parameters(script, &text).map_err(|diagnostic| registry.chains.refuse(diagnostic))?;
    let mut functions = Vec::new();
    for (loader, at) in &loaders {
        let (number, in_lua) = add_loader(registry, script, *loader)?;
        let function = handler(lua, &calls.loader, number, (script, *at, in_lua));
        functions.push((points(script, *loader, &registry.interfaces), function));
    }
    warn_of_others(registry, script, &text);
    if loaders.is_empty() {
        let main = script.chains.iter().position(|chain| chain.name == MAIN && chain.parameters == 0);
        let main = main.ok_or_else(|| {
            let message = format!("{} has no loader, and no chain '{MAIN}' without parameters", script.file);
            let help = "import a loader and attach it, or call the first chain `main`";
            registry.chains.refuse(Box::new(Diagnostic::new("MH0315", message).help(help)))
        })?;
        let (number, in_lua) = add_loader_of_chain(registry, script, main)?;
        let function = handler(lua, &calls.loader, number, (script, script.chains[main].at, in_lua));
        functions.push((vec![Point::at_interface(&XDP)], function));
    }
    for (points, function) in functions {
        let function = function.map_err(said)?;
        let at = |point| Registration::new(point, function.clone());
        registry.handlers.all.borrow_mut().extend(points.into_iter().map(at));
    }
    Ok(())
}

/// Where a loader runs: at those interfaces at which the script attaches it; at all where the script is run elsewhere than it says.
fn points(script: &Chains, loader: usize, interfaces: &[String]) -> Vec<Point> {
    let all = &script.attachments;
    let is_elsewhere = all.iter().any(|attachment| !interfaces.contains(&attachment.device));
    let own = all.iter().filter(|attachment| attachment.program == loader);
    let own: BTreeSet<&str> = own.map(|attachment| attachment.device.as_str()).collect();
    if interfaces.len() < 2 || is_elsewhere || own.is_empty() {
        return vec![Point::at_interface(&XDP)];
    }
    own.into_iter().map(|name| Point::at(&XDP, Place::Named(name.into()))).collect()
}

/// Warns of loaders that are to be at other interfaces than the script is run on, where others are to be at these.
fn warn_of_others(registry: &Registry, script: &Chains, text: &str) {
    let interfaces = &registry.interfaces;
    let (here, elsewhere): (Vec<&Attachment>, Vec<&Attachment>) =
        script.attachments.iter().partition(|attachment| interfaces.contains(&attachment.device));
    if here.is_empty() {
        return;
    }
    for Attachment { program, device, at, .. } in elsewhere {
        let (name, all) = (&script.programs[*program].name, interfaces.join(", "));
        let message =
            format!("'{name}' is to be attached at '{device}', and runs at {all}, as all loaders do");
        let help = "what is run on other interfaces than it says runs at all of them; a reload does not change which these are";
        let warning = Diagnostic::new("MH0322", message).help(help);
        registry.chains.warn(*placed(warning, (script, text), (*at, device)));
    }
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

/// A loader's number for packet code, and the chains in Lua that the handler starts, by what it is given then.
type Loader = (usize, Vec<(i64, usize, Function)>);

/// What a handler is given for chains in Lua is their number and this: no verdict.
const FIRST_IN_LUA: i64 = 1 << 32;

/// Adds a loader, with the chains that it can start.
fn add_loader(registry: &Registry, script: &Arc<Chains>, loader: usize) -> Result<Loader, String> {
    let program = match registry.chains.programs(script)[loader] {
        LoadedCallee::Object(program) => program,
        LoadedCallee::Lua { .. } => return Err("a loader is a program in C".into()),
    };
    let chains: Vec<usize> = startable(script).into_iter().collect();
    let numbers: Vec<(u64, usize)> =
        chains.into_iter().map(|chain| (chain as u64 + FIRST_CHAIN, chain)).collect();
    add(registry, script, Some(program), &numbers)
}

fn add_loader_of_chain(registry: &Registry, script: &Arc<Chains>, chain: usize) -> Result<Loader, String> {
    add(registry, script, None, &[(0, chain)])
}

fn add(
    registry: &Registry,
    script: &Arc<Chains>,
    program: Option<LoadedProgram>,
    numbers: &[(u64, usize)],
) -> Result<Loader, String> {
    let (mut chains, mut in_lua) = (Vec::new(), Vec::new());
    for (number, chain) in numbers {
        let startable = match registry.chains.in_lua(script, *chain) {
            Some(function) => {
                let answer = FIRST_IN_LUA + *chain as i64;
                in_lua.push((answer, *chain, function));
                Startable::Lua(answer)
            }
            None => Startable::Chain(registry.chains.add(script, *chain)?),
        };
        chains.push((*number, startable));
    }
    let number = registry.chains.add_loader(LoadedLoader { script: Arc::clone(script), program, chains });
    Ok((number, in_lua))
}

/// A handler that calls a loader, and starts the chains in Lua that this names; messages are about the line where the script attaches it.
fn handler(
    lua: &Lua,
    call: &Function,
    number: usize,
    (script, at, in_lua): (&Chains, At, Vec<(i64, usize, Function)>),
) -> mlua::Result<Function> {
    let lines = "\n".repeat(at.line.saturating_sub(1) as usize);
    let (chains, mut starts) = (lua.create_table()?, String::new());
    for (answer, chain, function) in in_lua {
        // By its name, which traces have then.
        let name = &*script.chains[chain].name;
        starts
            .push_str(&format!("if verdict == {answer} then chains['{name}'](pkt) return {UNDECIDED} end "));
        chains.raw_set(name, function)?;
    }
    let text = format!(
        "local call, number, chains = ... {lines}return function(pkt) local verdict = call(number, pkt) {starts}return verdict end"
    );
    let made = lua.load(text).set_name(format!("@{}", script.file)).into_function()?;
    made.call((call, number, chains))
}

/// What a packet gets about which a chain has not decided (`XDP_ABORTED`).
const UNDECIDED: i64 = 0;
