//! `require "trace"`: registers handlers for what happens in the kernel, by the names of its tracepoints and functions.

use super::attach::{add_detach, add_points};
use super::module::{Context, Module, type_error};
use crate::error::Refused;
use crate::kernel::Untold;
use crate::registry::Registry;
use mlua::{Table, Value};
use moonhook_hook::{Hook, KPROBE, KRETPROBE, Place, Point, RAW_TRACEPOINT, TRACE_HOOKS, TRACEPOINT};
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "trace", open };

const ON: &str = "trace.on";

/// A kind of places that names stand for.
struct Row {
    /// What their names begin with, in front of a `/`.
    starts: &'static [&'static str],
    hook: &'static Hook,
    /// How many parts a name has behind that.
    parts: usize,
    /// What errors call such a place.
    noun: &'static str,
}

static ROWS: [Row; 4] = [
    Row { starts: &["raw_tp", "raw_tracepoint"], hook: &RAW_TRACEPOINT, parts: 1, noun: "tracepoint" },
    Row { starts: &["tp", "tracepoint"], hook: &TRACEPOINT, parts: 2, noun: "tracepoint" },
    Row { starts: &["kprobe"], hook: &KPROBE, parts: 1, noun: "function" },
    Row { starts: &["kretprobe"], hook: &KRETPROBE, parts: 1, noun: "function" },
];

/// What names look like.
const EXPECTED: &str = "'raw_tp/NAME', 'tp/GROUP/NAME', 'kprobe/FUNCTION' or 'kretprobe/FUNCTION' expected";

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
    add_detach(context, &table, "trace.detach", TRACE_HOOKS)?;
    Ok(table)
}

/// The point that a name stands for; what the kernel tells of it is noted.
fn point(registry: &Registry, full: &str) -> Result<Point, String> {
    let Some((row, name)) = row(full) else {
        return Err(format!("bad argument #1 to '{}' ({EXPECTED})", key(ON)));
    };
    let hook = row.hook;
    let place = Point::at(hook, Place::Kernel(name.into()));
    let mut traced = registry.traced.borrow_mut();
    if traced.event(&place).is_none() {
        let kernel = &*registry.kernel;
        let known = kernel.types().and_then(|types| Ok((types, kernel.event(hook, name)?)));
        let (types, event) = known.map_err(|untold| refused(registry, row, &place.to_string(), untold))?;
        traced.add(types, place.clone(), event);
    }
    Ok(place)
}

/// What kind of place a name stands for, and the name of the place itself, if it is one that the kernel could have.
fn row(full: &str) -> Option<(&'static Row, &str)> {
    let (start, name) = full.split_once('/')?;
    let row = ROWS.iter().find(|row| row.starts.contains(&start))?;
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    (name.split('/').count() == row.parts && name.split('/').all(is_part)).then_some((row, name))
}

/// The message of an error about a place, of which the rest is noted.
fn refused(registry: &Registry, row: &Row, name: &str, untold: Untold) -> String {
    let noun = row.noun;
    let (message, refused) = match untold {
        Untold::None { near } => (format!("the kernel has no {noun} '{name}'"), Refused::None { near }),
        Untold::Unknown { problem, help } => {
            (format!("nothing is known of {noun} '{name}': {problem}"), Refused::Unknown { help })
        }
        Untold::Refused { problem } => (format!("'{name}' cannot be traced: {problem}"), Refused::Probe),
    };
    registry.refusals.note(&message, refused);
    message
}
