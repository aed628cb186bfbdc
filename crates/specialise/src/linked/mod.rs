//! Functions of C objects ([`moonhook_link`]) in programs: what they refer to comes into the module with them.
//!
//! Functions of an object have its number in their names, and so have its data; maps keep theirs, as far as no other object has one of that
//! name. Maps are in the module whether a function refers to them or not: the script may.

mod access;
mod maps;
mod program;
mod time;

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use moonhook_ir as ir;
use moonhook_ir::{FunctionId, FunctionKind, Given, GivenReference, Loc};
use moonhook_link::{Function, Target};

pub use access::{KEY, entry, load, look_up, store, zeroed};
pub use maps::map;
pub use program::{Started, call_function, call_loader, call_program, check_context};

/// The function that starts a chain: `int moonhook_chain(struct xdp_md *, __u32 number)`.
const START: &str = "moonhook_chain";

/// Adds a function of the object with that number, and all that it calls, to the program; gives its number. It has so many parameters.
///
/// # Errors
/// It calls a function that is nowhere, or functions of the object call one another in circles.
pub fn function(
    context: &mut Context<'_>,
    (object, function): (usize, usize),
    parameters: u32,
) -> Result<FunctionId> {
    place(context, (object, function), parameters, &mut Vec::new())
}

/// `calling` are the functions of the object that are being placed.
fn place(
    context: &mut Context<'_>,
    (number, index): (usize, usize),
    parameters: u32,
    calling: &mut Vec<usize>,
) -> Result<FunctionId> {
    let snapshot = context.snapshot;
    let object = &*snapshot.objects[number];
    let function = &object.functions[index];
    let name = format!("c{number}_{}", function.name);
    if let Some(known) = context.known_subprogram(&name) {
        return Ok(known);
    }
    if calling.contains(&index) {
        let what = format!("calling `{}` of {}, which calls itself,", function.name, object.name);
        return refuse(context, what, "let it be a loop");
    }
    calling.push(index);
    let mut references = Vec::with_capacity(function.references.len());
    for reference in &function.references {
        references.push((reference.slot, target(context, number, &reference.target, calling)?));
    }
    calling.pop();
    let mut words = function.code.clone();
    time::give(context, &mut words, &mut references);
    let kind = FunctionKind::Subprogram { global: false, context: None };
    let mut given = ir::Function::new(name, kind, parameters);
    let locs = locs(context, function).into();
    given.given = Some(Given { words: words.into(), locs, references });
    Ok(context.place_subprogram(given))
}

fn target(
    context: &mut Context<'_>,
    number: usize,
    target: &Target,
    calling: &mut Vec<usize>,
) -> Result<GivenReference> {
    let snapshot = context.snapshot;
    let object = &*snapshot.objects[number];
    Ok(match target {
        // A function of C's has five parameters at most.
        Target::Call(callee) => GivenReference::Call(place(context, (number, *callee), 5, calling)?),
        Target::Function(callee) => GivenReference::Function(place(context, (number, *callee), 5, calling)?),
        Target::Map(map) => GivenReference::Map(maps::map(context, number, *map)),
        Target::Data { section, offset } => {
            GivenReference::Data(maps::data(context, number, *section), *offset)
        }
        // What the header for HIKe's programs has them start chains with.
        Target::Missing(name) if name == START => start(context, number, calling)?,
        Target::Missing(name) => {
            let what = format!("calling the function `{name}`, which {} does not have,", object.name);
            return refuse(context, what, "compile the object with all that it calls");
        }
    })
}

/// A chain is started by the loader itself: to its callers, a function of the loader's would return.
fn start(context: &Context<'_>, object: usize, calling: &[usize]) -> Result<GivenReference> {
    let loaders = || context.snapshot.loaders.iter().filter_map(|loader| loader.program);
    if let [function] = calling
        && loaders().any(|loader| (loader.object, loader.function) == (object, *function))
    {
        return Ok(GivenReference::Start);
    }
    let object = &context.snapshot.objects[object];
    let name = calling.last().map_or("?", |function| &object.functions[*function].name);
    let what = format!("starting a chain in `{name}` of {}, which is no loader,", object.name);
    refuse(context, what, "let only the loader start chains: what it calls is `static __always_inline` then")
}

/// Where a function's words come from, in the sources of the snapshot.
fn locs(context: &Context<'_>, function: &Function) -> Vec<Loc> {
    let mut locs = vec![Loc::default(); function.code.len()];
    let source = |file: &str| context.snapshot.sources.iter().position(|source| source.name == file);
    let mut known: Option<(&str, Option<usize>)> = None;
    for (index, line) in function.lines.iter().enumerate() {
        let source = match known {
            Some((file, source)) if file == line.file => source,
            _ => source(&line.file),
        };
        known = Some((&line.file, source));
        let end = function.lines.get(index + 1).map_or(locs.len(), |next| next.slot.min(locs.len()));
        let loc = source.map(|source| Loc { source: source as u16, line: line.number }).unwrap_or_default();
        locs.get_mut(line.slot..end).into_iter().flatten().for_each(|place| *place = loc);
    }
    locs
}

/// Refuses what no form of code can do.
fn refuse<T>(context: &Context<'_>, what: String, help: &'static str) -> Result<T> {
    let reason = "functions of objects stay as another compiler has made them";
    context.refuse(LowerErrorKind::Linked { what, reason, help }, None)
}
