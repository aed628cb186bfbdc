//! Raw tracepoints: programs get the arguments that the kernel's own code passes, a word of 64 bits each
//! (`bpf_trace_run…`, kernel/trace/bpf_trace.c).

use crate::event::{Argument, Event, Place};
use crate::reader::{Kind, TypeId, Types};

/// The type that stands for each tracepoint: the address of a function with its arguments (`btf_trace_##call`, include/trace/bpf_probe.h).
const TYPE: &str = "btf_trace_";

/// Functions of the kernel with the same arguments, whose names are known there (include/linux/tracepoint.h).
const FUNCTIONS: [&str; 2] = ["__traceiter_", "__probestub_"];

/// The names of all raw tracepoints.
pub fn raw_tracepoints(types: &Types) -> impl Iterator<Item = &str> {
    let named = |id: TypeId| types.name(id).strip_prefix(TYPE);
    types.all().filter(|id| matches!(types.kind(*id), Kind::Alias(_))).filter_map(named)
}

/// The arguments of the raw tracepoint of that name; `None` where there is none.
pub fn raw_tracepoint(types: &Types, name: &str) -> Option<Event> {
    let alias = types.find(&format!("{TYPE}{name}"), |kind| matches!(kind, Kind::Alias(_)))?;
    let Kind::Pointer(prototype) = types.kind(types.resolved(alias)) else { return None };
    // The first one is whom the tracepoint belongs to.
    let parameters = types.members(types.resolved(prototype)).into_iter().skip(1);
    let names = names(types, name);
    let arguments = parameters.enumerate().map(|(number, parameter)| {
        let known = names.get(number).copied().filter(|name| !name.is_empty());
        let known = known.or_else(|| Some(parameter.name).filter(|name| !name.is_empty()));
        let name = known.map_or_else(|| format!("arg{number}"), str::to_string);
        let place = Place::Word(8 * number as u32);
        Argument { name: name.into(), content: types.content(parameter.type_id), place }
    });
    Some(Event { structure: None, arguments: arguments.collect() })
}

/// What the arguments are called, where a function with them is known.
fn names<'t>(types: &'t Types, name: &str) -> Vec<&'t str> {
    let is_function = |kind| matches!(kind, Kind::Function(_));
    let found = FUNCTIONS.iter().find_map(|start| types.find(&format!("{start}{name}"), is_function));
    let Some(Kind::Function(prototype)) = found.map(|id| types.kind(id)) else { return Vec::new() };
    types.members(prototype).into_iter().skip(1).map(|parameter| parameter.name).collect()
}
