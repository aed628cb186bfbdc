//! `require "trace"`: registers handlers for what happens in the kernel, by the names of its tracepoints.

use super::attach::{add_detach, add_points};
use super::module::{Context, Module, type_error};
use crate::error::Refused;
use crate::kernel::Untold;
use crate::registry::Registry;
use mlua::{Table, Value};
use moonhook_hook::{Hook, Place, Point, RAW_TRACEPOINT, TRACEPOINT};
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "trace", open };

const ON: &str = "trace.on";

/// How a name begins that says more than the hook's own, and whose programs it has.
const KINDS: [(&str, Kind); 6] = [
    ("raw_tp/", Kind::Hook(&RAW_TRACEPOINT)),
    ("raw_tracepoint/", Kind::Hook(&RAW_TRACEPOINT)),
    ("tp/", Kind::Hook(&TRACEPOINT)),
    ("tracepoint/", Kind::Hook(&TRACEPOINT)),
    ("kprobe/", Kind::Probe),
    ("kretprobe/", Kind::Probe),
];

#[derive(Clone, Copy)]
enum Kind {
    Hook(&'static Hook),
    /// Programs at functions of the kernel, which are not made.
    Probe,
}

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let registry = context.registry.clone();
    add_points(context, &table, ON, move |arguments| {
        let Some(Value::String(name)) = arguments.first() else {
            return Err(type_error(arguments, 1, key(ON), "string"));
        };
        let Some(Value::Function(handler)) = arguments.get(1) else {
            return Err(type_error(arguments, 2, key(ON), "function"));
        };
        let point = point(&registry, &name.to_string_lossy())?;
        Ok((vec![point], Value::Function(handler.clone())))
    })?;
    add_detach(context, &table, "trace.detach", &[&RAW_TRACEPOINT, &TRACEPOINT])?;
    Ok(table)
}

/// The point that a name stands for; what the kernel tells of it is noted.
fn point(registry: &Registry, full: &str) -> Result<Point, String> {
    let found = KINDS.iter().find_map(|(start, kind)| Some((kind, full.strip_prefix(start)?)));
    let (hook, name) = match found {
        Some((Kind::Hook(hook), name)) if is_name(hook, name) => (*hook, name),
        Some((Kind::Probe, _)) => return Err(refuse_probe(registry, full)),
        _ => {
            return Err(format!(
                "bad argument #1 to '{}' ('raw_tp/NAME' or 'tp/GROUP/NAME' expected)",
                key(ON)
            ));
        }
    };
    let place = Point::at(hook, Place::Tracepoint(name.into()));
    let mut traced = registry.traced.borrow_mut();
    if traced.event(&place).is_none() {
        let kernel = &*registry.kernel;
        let known = kernel.types().and_then(|types| Ok((types, kernel.event(hook, name)?)));
        let (types, event) = known.map_err(|untold| refused(registry, &place.to_string(), untold))?;
        traced.add(types, place.clone(), event);
    }
    Ok(place)
}

/// Whether a name is one that the kernel could have.
fn is_name(hook: &Hook, name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    let parts = name.split('/');
    let expected = if hook == &TRACEPOINT { 2 } else { 1 };
    parts.clone().count() == expected && parts.into_iter().all(is_part)
}

/// The message of an error about a tracepoint, of which the rest is noted.
fn refused(registry: &Registry, name: &str, untold: Untold) -> String {
    let (message, refused) = match untold {
        Untold::None { near } => (format!("the kernel has no tracepoint '{name}'"), Refused::None { near }),
        Untold::Unknown { problem, help } => {
            (format!("nothing is known of tracepoint '{name}': {problem}"), Refused::Unknown { help })
        }
        Untold::Refused { problem } => (format!("'{name}' cannot be traced: {problem}"), Refused::Probe),
    };
    registry.refusals.note(&message, refused);
    message
}

fn refuse_probe(registry: &Registry, name: &str) -> String {
    let problem = registry.kernel.probes().to_string();
    refused(registry, name, Untold::Refused { problem })
}
