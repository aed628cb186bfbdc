//! Maps of imported programs: what scripts fill them with, and what chains read of them.

use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::token::At;
use moonhook_eclat::tree::{Chains, Contents, MapRead};
use moonhook_link::{Map, Object};
use moonhook_snapshot::{Leaf, LoadedCallee, LoadedMap, LoadedProgram, MapContents};
use std::collections::BTreeSet;

use super::super::bpf::{Part, of_map};
use super::script::placed;
use crate::map_contents::encode;
use crate::map_limits::{check_key, room};
use crate::registry::Registry;

/// Bytes of keys and values.
type Entries = Vec<[Vec<u8>; 2]>;

/// The entries that a script gives to maps of its programs.
///
/// # Errors
/// Maps that there are not, and what does not fit them.
pub fn contents(
    registry: &Registry,
    script: &Chains,
    (programs, text): (&[LoadedCallee], &str),
) -> Result<Vec<MapContents>, Box<Diagnostic>> {
    let of_one = |contents: &Contents| {
        let place = (contents.at, contents.map.as_str());
        let LoadedCallee::Object(LoadedProgram { object, .. }) = programs[contents.program] else {
            let message = format!(
                "'{}' is a function in Lua, which has no maps",
                script.programs[contents.program].name
            );
            let diagnostic = Diagnostic::new("MH0310", message).help("let it keep what it needs in a table");
            return Err(placed(diagnostic, (script, text), place));
        };
        let linked = registry.chains.object_at(object);
        let map = map_named(&linked, &contents.map)
            .map_err(|diagnostic| placed(*diagnostic, (script, text), place))?;
        let wrong = |(at, diagnostic): (At, Box<Diagnostic>)| {
            placed(*diagnostic, (script, text), (at, contents.map.as_str()))
        };
        let entries = entries(&linked, &linked.maps[map], contents).map_err(wrong)?;
        Ok(MapContents { object, map, entries })
    };
    script.contents.iter().map(of_one).collect()
}

/// The maps that chains read.
///
/// # Errors
/// Maps that there are not, or with other keys and values.
pub fn reads(
    registry: &Registry,
    script: &Chains,
    (programs, text): (&[LoadedCallee], &str),
) -> Result<Vec<LoadedMap>, Box<Diagnostic>> {
    let of_one = |read: &MapRead| {
        let wrong =
            |diagnostic: Box<Diagnostic>| placed(*diagnostic, (script, text), (read.at, read.map.as_str()));
        let LoadedCallee::Object(LoadedProgram { object, .. }) = programs[read.program] else {
            let message =
                format!("'{}' is a function in Lua, which has no maps", script.programs[read.program].name);
            let help = "let it keep what it needs in a table";
            return Err(wrong(Box::new(Diagnostic::new("MH0310", message).help(help))));
        };
        let linked = registry.chains.object_at(object);
        let map = map_named(&linked, &read.map).map_err(wrong)?;
        let leaves = |parts: Vec<Part>| parts.into_iter().map(|part| part.leaf).collect::<Vec<Leaf>>();
        let [key, value] = match of_map(&linked, &linked.maps[map]) {
            Ok([key, value]) if key.len() == read.parts && value.len() == 1 => [key, value].map(leaves),
            parts => return Err(wrong(Box::new(unreadable(read, parts)))),
        };
        Ok(LoadedMap { object, map, key, value })
    };
    script.reads.iter().map(of_one).collect()
}

/// Why a chain cannot read a map.
fn unreadable(read: &MapRead, parts: Result<[Vec<Part>; 2], String>) -> Diagnostic {
    let in_lua = "let a program of the package, in C or Lua, give the number that the chain needs";
    let (problem, help) = match parts {
        Err(problem) => (problem, in_lua.to_string()),
        Ok([_, value]) if value.len() > 1 => {
            let names: Vec<String> = value.iter().take(MOST_NAMED).map(Part::title).collect();
            let more = if value.len() > MOST_NAMED { ", …" } else { "" };
            let what =
                format!("has records for values ({}{more}), and a chain reads one integer", names.join(", "));
            (what, in_lua.to_string())
        }
        Ok([key, _]) => {
            let help = format!(
                "write `{}[KEY]`, with {} numbers for KEY, and commas between them",
                read.map,
                key.len()
            );
            (format!("has keys of {} parts, not of {}", key.len(), read.parts), help)
        }
    };
    Diagnostic::new("MH0316", format!("the map '{}' {problem}", read.map)).help(help)
}

/// Fields that a message names, at most.
const MOST_NAMED: usize = 4;

/// The number of a map in the object.
fn map_named(object: &Object, name: &str) -> Result<usize, Box<Diagnostic>> {
    object.maps.iter().position(|map| map.name == name).ok_or_else(|| {
        let names: Vec<&str> = object.maps.iter().map(|map| map.name.as_str()).collect();
        let help = match names.is_empty() {
            true => "the program has no maps".to_string(),
            false => format!("its maps are {}", names.join(", ")),
        };
        Box::new(Diagnostic::new("MH0310", format!("{} has no map '{name}'", object.name)).help(help))
    })
}

/// The bytes of the entries.
///
/// # Errors
/// What does not fit, with the place of the entry.
fn entries(object: &Object, map: &Map, contents: &Contents) -> Result<Entries, (At, Box<Diagnostic>)> {
    let mut entries: Entries = Vec::new();
    let mut known = BTreeSet::new();
    for (index, [key, value]) in contents.entries.iter().enumerate() {
        let at = contents.places.get(index).copied().unwrap_or(contents.at);
        let wrong = |what: &str, help: &str, problem: String| {
            let message = format!("the map '{}' cannot have this entry: its {what} {problem}", map.name);
            (at, Box::new(Diagnostic::new("MH0316", message).help(help)))
        };
        let parts = "write a number for each part of the map's types, or an address";
        let range = "write a key that the map can have; `bpftool btf dump file` shows its definition";
        let key = encode(&object.types, map.key, key).map_err(|problem| wrong("key", parts, problem))?;
        check_key(map, &key).map_err(|problem| wrong("key", range, problem))?;
        let value =
            encode(&object.types, map.value, value).map_err(|problem| wrong("value", parts, problem))?;
        known.insert(key.clone());
        if room(map).is_some_and(|room| known.len() > room) {
            let message =
                format!("the map '{}' has room for {} entries, not for more", map.name, map.max_entries);
            let help = "let the program's map have more entries, or give it fewer";
            return Err((at, Box::new(Diagnostic::new("MH0316", message).help(help))));
        }
        entries.push([key, value]);
    }
    Ok(entries)
}
