//! Maps of imported programs: what scripts fill them with, and what chains read of them.

use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::tree::{Chains, Contents, MapRead};
use moonhook_link::Object;
use moonhook_snapshot::{Leaf, LoadedCallee, LoadedMap, LoadedProgram, MapContents};

use super::super::bpf::of_map;
use super::script::placed;
use crate::map_contents::encode;
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
        let encoded = entries(&registry.chains.object_at(object), contents);
        let (map, entries) = encoded.map_err(|diagnostic| placed(*diagnostic, (script, text), place))?;
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
        let parts = of_map(&linked, &linked.maps[map]);
        let [key, value] = match parts
            .map(|parts| parts.map(|parts| parts.iter().map(|part| part.leaf).collect::<Vec<Leaf>>()))
        {
            Ok([key, value]) if key.len() == read.parts && value.len() == 1 => [key, value],
            parts => {
                let problem = parts
                    .err()
                    .unwrap_or_else(|| "has other keys, or more than one integer for a key".into());
                let message = format!("the map '{}' {problem}", read.map);
                let help = "write a number for each part of the key; read maps of records in Lua";
                return Err(wrong(Box::new(Diagnostic::new("MH0316", message).help(help))));
            }
        };
        Ok(LoadedMap { object, map, key, value })
    };
    script.reads.iter().map(of_one).collect()
}

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

/// The number of the map in the object, and the bytes of the entries.
fn entries(object: &Object, contents: &Contents) -> Result<(usize, Entries), Box<Diagnostic>> {
    let number = map_named(object, &contents.map)?;
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
