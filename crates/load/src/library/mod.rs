//! Functions that a script gives programs in C: those of the table that it returns, by name.

mod words;

use mlua::{Function, Table, Value};
use std::collections::HashSet;

use moonhook_diagnostic::Place;
use moonhook_hook::{Hook, Place as At, Point, XDP};
use moonhook_snapshot::{BY_KEY, Snapshot, Source};

use crate::error::LoadError;
use crate::modules::module::type_name;
use crate::obstacle::Obstacle;
use crate::registry::Registration;

pub use words::is_reserved;

/// Integers that such a function can take behind the packet: functions of programs have five parameters at most.
const MOST: u8 = 4;

/// The functions in what a script has returned, in the order of their names. One that returns no table has none.
///
/// # Errors
/// `Exported`, if C cannot call one.
pub(crate) fn functions(
    returned: &Value,
    hook: &'static Hook,
    sources: &[Source],
) -> Result<Vec<Registration>, LoadError> {
    let Value::Table(table) = returned else { return Ok(Vec::new()) };
    let mut found = named(table, sources)?;
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let registration = |(name, function): (String, Function)| {
        Registration::new(Point::at(hook, At::Function(name.into())), function)
    };
    Ok(found.into_iter().map(registration).collect())
}

/// The same handlers once more, where programs in C call them with an argument: those of the script's interface.
pub(crate) fn called(registered: &[Registration]) -> Vec<Registration> {
    let is_of_interface = |registration: &&Registration| registration.point == Point::at_interface(&XDP);
    let again = |registration: &Registration| registration.moved_to(Point::at(&XDP, At::Called));
    registered.iter().filter(is_of_interface).map(again).collect()
}

/// Refuses names that two scripts have given functions, and what is for hooks without packets.
///
/// # Errors
/// `Exported`.
pub(crate) fn check(registered: &[Registration], sources: &[Source]) -> Result<(), LoadError> {
    let mut known = HashSet::new();
    for Registration { point, function, .. } in registered {
        let is_known = !known.insert(point);
        let name = match &point.place {
            At::Function(name) => name.to_string(),
            _ => point.to_string(),
        };
        let obstacle = if point.hook.is_trace() {
            Obstacle::Hook(point.hook.name)
        } else if is_known && matches!(point.place, At::Function(_)) {
            Obstacle::OtherScript
        } else {
            continue;
        };
        let place = place(&name, function, sources).map(Box::new);
        return Err(LoadError::Exported { name, obstacle, place });
    }
    Ok(())
}

/// Refuses names of functions that other symbols of the library have, and a library whose handlers' function can have no name.
///
/// # Errors
/// `Exported`.
pub(crate) fn check_names(snapshot: &Snapshot, library: &str) -> Result<(), LoadError> {
    let points = snapshot.points();
    let is_called = points.iter().any(|point| point.place == At::Called);
    let is_function = |point: &Point| matches!(point.place, At::Function(_));
    let of_handlers: Vec<String> = (points.iter().enumerate())
        .filter(|(_, point)| !is_function(point))
        .map(|(number, _)| snapshot.program_name(number))
        .collect();
    let prefix = format!("{library}__");
    for (number, point) in points.iter().enumerate() {
        let name = snapshot.program_name(number);
        let obstacle = match is_function(point) {
            true if is_called && name == BY_KEY => Obstacle::Called,
            true if is_reserved(&name) => Obstacle::Reserved,
            true if name.starts_with(&prefix) => Obstacle::Prefix(prefix),
            true if of_handlers.contains(&name) => Obstacle::Handlers,
            false if point.place != At::Called && is_reserved(&name) => Obstacle::Object,
            _ => continue,
        };
        let place = snapshot.handlers_of(number).next().and_then(|(_, handler)| {
            let prototype = snapshot.prototype(snapshot.closure(handler.written).prototype);
            let (source, line) = (snapshot.source(prototype.source?), prototype.line_defined);
            let text = source.line(line).to_owned();
            Some(Box::new(Place { file: source.name.clone(), line, text, name: Some(name.clone()) }))
        });
        return Err(LoadError::Exported { name: name.clone(), obstacle, place });
    }
    Ok(())
}

fn named(table: &Table, sources: &[Source]) -> Result<Vec<(String, Function)>, LoadError> {
    let mut found = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let Ok((key, Value::Function(function))) = pair else { continue };
        let name = match &key {
            Value::String(name) => name.to_string_lossy(),
            Value::Integer(number) => format!("[{number}]"),
            other => format!("[a {}]", type_name(other)),
        };
        if let Some(obstacle) = obstacle(&name, &function) {
            let place = place(&name, &function, sources).map(Box::new);
            return Err(LoadError::Exported { name, obstacle, place });
        }
        found.push((name, function));
    }
    Ok(found)
}

/// Why C cannot call the function by that name.
fn obstacle(name: &str, function: &Function) -> Option<Obstacle> {
    let info = function.info();
    if !words::is_identifier(name) {
        return Some(Obstacle::NoName);
    }
    if name.len() > words::LONGEST {
        return Some(Obstacle::TooLong(words::LONGEST));
    }
    if info.what == "C" {
        return Some(Obstacle::NotOfScript);
    }
    if info.is_vararg {
        return Some(Obstacle::Variadic);
    }
    match info.num_params {
        0 => Some(Obstacle::NoPacket),
        count if count > 1 + MOST => Some(Obstacle::Parameters(count - 1)),
        _ => None,
    }
}

/// Where the function begins.
fn place(name: &str, function: &Function, sources: &[Source]) -> Option<Place> {
    let info = function.info();
    let file = info.source?.strip_prefix('@')?.to_string();
    let line = u32::try_from(info.line_defined?).ok()?;
    let source = sources.iter().find(|source| source.name == file)?;
    Some(Place { file, line, text: source.line(line).to_owned(), name: Some(name.to_string()) })
}
