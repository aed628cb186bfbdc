//! Reading scripts: the file, the programs that it imports, what it fills their maps with.

use mlua::Table;
use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_eclat::ast::Source;
use moonhook_eclat::token::At;
use moonhook_eclat::tree::{Chains, Contents, Program};
use moonhook_link::Object;
use moonhook_snapshot::{LoadedProgram, MapContents};
use std::sync::Arc;

use super::super::updates::content;
use crate::map_contents::encode;
use crate::packages::{loader_of, program_of};
use crate::registry::Registry;

/// The script in a file, which messages call by its title, with the programs that its chains call.
///
/// # Errors
/// The message of an error in Lua; the registry knows the diagnostic that belongs to it.
pub fn read(
    registry: &Registry,
    globals: &Table,
    (file, title): (&str, &str),
) -> Result<Arc<Chains>, String> {
    if let Some(known) = registry.chains.script(title) {
        return Ok(known);
    }
    let text = moonhook_eclat::defined(content(globals, file)?, &registry.defines);
    let loaded = moonhook_eclat::read(&text, title).and_then(|script| {
        let programs = programs(registry, &script, &text)?;
        let contents = contents(registry, &script, (&programs, &text))?;
        Ok((Arc::new(script), programs, contents))
    });
    let (script, programs, contents) = loaded.map_err(|diagnostic| registry.chains.refuse(diagnostic))?;
    registry.chains.add_script(&script, programs, text);
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

/// By program of the script, where it is.
fn programs(registry: &Registry, script: &Chains, text: &str) -> Result<Vec<LoadedProgram>, Box<Diagnostic>> {
    let mut programs = Vec::new();
    for Program { package, name, at, source } in &script.programs {
        let placed = |diagnostic: Box<Diagnostic>| placed(*diagnostic, (script, text), (*at, name));
        let object = registry.chains.object(&*registry.packages, [package, name]).map_err(placed)?;
        let read = registry.chains.object_at(object);
        let function = match source {
            Source::Loaders => loader_of(&read),
            Source::Programs | Source::Lua => program_of(&read),
        };
        programs.push(LoadedProgram { object, function: function.map_err(placed)? });
    }
    Ok(programs)
}

fn contents(
    registry: &Registry,
    script: &Chains,
    (programs, text): (&[LoadedProgram], &str),
) -> Result<Vec<MapContents>, Box<Diagnostic>> {
    let of_one = |contents: &Contents| {
        let object = programs[contents.program].object;
        let encoded = entries(&registry.chains.object_at(object), contents);
        let place = (contents.at, contents.map.as_str());
        let (map, entries) = encoded.map_err(|diagnostic| placed(diagnostic, (script, text), place))?;
        Ok(MapContents { object, map, entries })
    };
    script.contents.iter().map(of_one).collect()
}

/// The number of the map in the object, and the bytes of the entries.
fn entries(object: &Object, contents: &Contents) -> Result<(usize, Vec<[Vec<u8>; 2]>), Diagnostic> {
    let Some(number) = object.maps.iter().position(|map| map.name == contents.map) else {
        let names: Vec<&str> = object.maps.iter().map(|map| map.name.as_str()).collect();
        let help = match names.is_empty() {
            true => "the program has no maps".to_string(),
            false => format!("its maps are {}", names.join(", ")),
        };
        let message = format!("{} has no map '{}'", object.name, contents.map);
        return Err(Diagnostic::new("MH0310", message).help(help));
    };
    let map = &object.maps[number];
    let wrong = |what: &str, problem: String| {
        let message = format!("the map '{}' cannot have this entry: its {what} {problem}", map.name);
        Diagnostic::new("MH0316", message)
            .help("write a number for each part of the map's types, or an address")
    };
    let mut entries = Vec::new();
    for [key, value] in &contents.entries {
        let key = encode(&object.types, map.key, key).map_err(|problem| wrong("key", problem))?;
        let value = encode(&object.types, map.value, value).map_err(|problem| wrong("value", problem))?;
        entries.push([key, value]);
    }
    Ok((number, entries))
}
