//! What the programs of a script are called, and the functions that they are, before there is code.

use crate::{Options, exported};
use moonhook_hook::{Hook, Place, Point};
use moonhook_ir as ir;
use moonhook_snapshot::Snapshot;
use std::path::Path;

/// The hook with that number, and the function of its program.
pub fn empty(snapshot: &Snapshot, options: &Options, number: usize) -> (&'static Hook, ir::Function) {
    let point = &snapshot.points()[number];
    let kind = ir::FunctionKind::Program { section: point.section(options.frags) };
    let parameters = 1 + exported::parameters(snapshot, number) as u32;
    let mut function = ir::Function::new(program_name(snapshot, number), kind, parameters);
    function.prototype = exported::prototype(snapshot, options, number);
    (point.hook, function)
}

/// The name of the script's program with that number, which has the hook's name in it if there are several: a C identifier.
pub fn program_name(snapshot: &Snapshot, number: usize) -> String {
    let stem = name_of_script(&snapshot.script);
    match snapshot.points().get(number).map(|point| &point.place) {
        Some(Place::Function(name)) => return name.to_string(),
        Some(Place::Called) => return format!("{stem}__called"),
        _ => {}
    }
    let is_program = |point: &Point| !matches!(point.place, Place::Function(_) | Place::Called);
    let hooks = snapshot.points().into_iter().filter(is_program).map(|point| point.hook);
    match hooks.collect::<Vec<_>>().as_slice() {
        [_] => stem,
        _ => format!("{stem}_{}", snapshot.hooks()[number].name.replace('.', "_")),
    }
}

/// The name of the library that the script is, if it is one: a C identifier.
pub fn library_name(snapshot: &Snapshot) -> String {
    name_of_script(&snapshot.script)
}

/// A C identifier of at most 15 characters (the kernel's `BPF_OBJ_NAME_LEN`) made from the script's file name.
fn name_of_script(script: &str) -> String {
    let stem = Path::new(script).file_stem().and_then(|stem| stem.to_str()).unwrap_or("handler");
    let mut name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(15).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
        name.truncate(15);
    }
    name
}

/// Changes a program's name, where another symbol of the object has it.
pub fn set_apart(name: &mut String, taken: impl Fn(&str) -> bool) {
    let numbered = |number: usize| match number {
        0 => name.clone(),
        number => format!("{}_{number}", &name[..name.len().min(12)]),
    };
    if let Some(free) = (0..).map(numbered).find(|name| !taken(name)) {
        *name = free;
    }
}
