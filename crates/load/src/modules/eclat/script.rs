//! Reading scripts: the file, the programs that it imports, what it fills their maps with.

use mlua::{Function, Lua, Table, Value};
use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_eclat::ast::Source;
use moonhook_eclat::token::At;
use moonhook_eclat::tree::{Chains, Program};
use moonhook_snapshot::{LoadedCallee, LoadedProgram};
use std::path::Path;
use std::sync::Arc;

use super::super::flow::said;
use super::super::updates::content;
use super::{in_lua, maps};
use crate::packages::{Packaged, loader_of, program_of};
use crate::registry::Registry;

/// The script in a file, which messages call by its title, with the programs that its chains call; `call` calls chains.
///
/// # Errors
/// The message of an error in Lua; the registry knows the diagnostic that belongs to it.
pub fn read(
    (lua, registry, globals): (&Lua, &Registry, &Table),
    call: &Function,
    (file, title): (&str, &str),
) -> Result<Arc<Chains>, String> {
    if let Some(known) = registry.chains.script(title) {
        return Ok(known);
    }
    let text = moonhook_eclat::defined(content(globals, file)?, &registry.defines, title)
        .map_err(|diagnostic| registry.chains.refuse(diagnostic))?;
    let loaded = moonhook_eclat::read(&text, title).and_then(|script| {
        let programs = programs((lua, registry, globals), &script, &text)?;
        let contents = maps::contents(registry, &script, (&programs.all, &text))?;
        let maps = maps::reads(registry, &script, (&programs.all, &text))?;
        Ok((Arc::new(script), programs, contents, maps))
    });
    let (script, programs, contents, maps) =
        loaded.map_err(|diagnostic| registry.chains.refuse(diagnostic))?;
    let before = registry.chains.known();
    registry.chains.add_script(&script, (programs.all, programs.functions, maps), text.clone());
    let in_lua = in_lua::functions((lua, registry, call), &script, &text).map_err(|diagnostic| {
        // Who asks again is told again: without its functions the script is none.
        registry.chains.forget_since(&before);
        registry.chains.refuse(diagnostic)
    })?;
    registry.chains.set_in_lua(&script, in_lua);
    contents.into_iter().for_each(|contents| registry.chains.add_contents(contents));
    Ok(script)
}

/// A diagnostic with its place in a script of that text.
pub fn placed(
    diagnostic: Diagnostic,
    (script, text): (&Chains, &str),
    (at, name): (At, &str),
) -> Box<Diagnostic> {
    let line = text.lines().nth((at.line as usize).saturating_sub(1)).unwrap_or_default().to_string();
    let place = Place { file: script.file.clone(), line: at.line, text: line, name: Some(name.to_string()) };
    Box::new(diagnostic.at(place))
}

/// What the programs of a script are, with the functions in Lua among them.
#[derive(Default)]
struct Programs {
    all: Vec<LoadedCallee>,
    functions: Vec<Function>,
}

fn programs(
    (lua, registry, globals): (&Lua, &Registry, &Table),
    script: &Chains,
    text: &str,
) -> Result<Programs, Box<Diagnostic>> {
    let mut programs = Programs::default();
    for program in &script.programs {
        let place = (program.at, program.name.as_str());
        let found = find((lua, registry, globals), program, &mut programs.functions);
        programs.all.push(found.map_err(|diagnostic| placed(*diagnostic, (script, text), place))?);
    }
    Ok(programs)
}

fn find(
    (lua, registry, globals): (&Lua, &Registry, &Table),
    Program { source, package, name, .. }: &Program,
    functions: &mut Vec<Function>,
) -> Result<LoadedCallee, Box<Diagnostic>> {
    let mut in_lua = |function, takes_packet| {
        functions.push(function);
        LoadedCallee::Lua { number: functions.len() - 1, takes_packet }
    };
    if *source == Source::Lua {
        return of_module(globals, package, name).map(|function| in_lua(function, false));
    }
    let object = match registry.chains.known_object([package, name]) {
        Some(known) => known,
        None => match registry.packages.find(package, name)? {
            Packaged::Lua(path) => {
                return of_file(lua, registry, globals, &path).map(|function| in_lua(function, true));
            }
            Packaged::Object(object) => registry.chains.add_program([package, name], object)?,
        },
    };
    let read = registry.chains.object_at(object);
    let function = if *source == Source::Loaders { loader_of(&read)? } else { program_of(&read)? };
    Ok(LoadedCallee::Object(LoadedProgram { object, function }))
}

/// The function of that name in the table that a module of the script's is.
fn of_module(globals: &Table, module: &str, name: &str) -> Result<Function, Box<Diagnostic>> {
    let wrong = |problem: String| {
        let help = "let the file return a table with the function: `return { name = function(a, b) … end }`";
        Box::new(Diagnostic::new("MH0318", problem).help(help))
    };
    let required = globals.get::<Function>("require").and_then(|require| require.call::<Value>(module));
    match required.map_err(|error| wrong(said(error)))? {
        Value::Table(table) => match table.get::<Value>(name).map_err(|error| wrong(said(error)))? {
            Value::Function(function) => Ok(function),
            other => Err(wrong(format!(
                "'{name}' of the module '{module}' is a {} value, no function",
                other.type_name()
            ))),
        },
        other => Err(wrong(format!("the module '{module}' gives a {} value, no table", other.type_name()))),
    }
}

/// The function that a file of a package returns.
fn of_file(
    lua: &Lua,
    registry: &Registry,
    globals: &Table,
    path: &Path,
) -> Result<Function, Box<Diagnostic>> {
    let wrong = |problem: String| {
        let help = "let the file return the function: `return function(pkt, a, b, c) … end`";
        Box::new(Diagnostic::new("MH0318", format!("{}: {problem}", path.display())).help(help))
    };
    let name = path.to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    registry.chains.add_source(&name, &text);
    let chunk = lua.load(text).set_name(format!("@{name}")).set_environment(globals.clone());
    match chunk.eval::<Value>().map_err(|error| wrong(said(error)))? {
        Value::Function(function) => Ok(function),
        other => Err(wrong(format!("it returns a {} value, no function", other.type_name()))),
    }
}
