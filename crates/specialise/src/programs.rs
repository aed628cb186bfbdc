//! The functions that the programs of a script are, before there is code.

use crate::{Options, exported};
use moonhook_hook::Hook;
use moonhook_ir as ir;
use moonhook_snapshot::Snapshot;

/// The hook with that number, and the function of its program.
pub fn empty(snapshot: &Snapshot, options: &Options, number: usize) -> (&'static Hook, ir::Function) {
    let point = &snapshot.points()[number];
    let kind = ir::FunctionKind::Program { section: point.section(options.frags) };
    let parameters = 1 + exported::parameters(snapshot, number) as u32;
    let mut function = ir::Function::new(snapshot.program_name(number), kind, parameters);
    function.prototype = exported::prototype(snapshot, number);
    (point.hook, function)
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
