//! The functions that the source files define.

use crate::sources::ROUTINES;
use moonhook_snapshot::flow::Flow;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, PrototypeId, Value};
use std::collections::HashMap;
use std::sync::OnceLock;

/// A function of a source file.
pub struct Routine {
    pub file: &'static str,
    pub prototype: Prototype,
    pub flow: Flow,
}

/// All functions: `name` for global ones, `inline.name`, and `file:name` for local ones.
static ALL: OnceLock<HashMap<String, Routine>> = OnceLock::new();

/// The global function with that name.
pub fn routine(name: &str) -> Option<&'static Routine> {
    if name.contains(['.', ':']) { None } else { find(name) }
}

/// A function by the name that the compiler gives it.
pub(super) fn find(name: &str) -> Option<&'static Routine> {
    ALL.get_or_init(read_all).get(name)
}

/// The names of all global functions, sorted.
pub fn names() -> Vec<&'static str> {
    let all = ALL.get_or_init(read_all);
    let mut names: Vec<&str> =
        all.keys().map(String::as_str).filter(|name| !name.contains(['.', ':'])).collect();
    names.sort_unstable();
    names
}

fn read_all() -> HashMap<String, Routine> {
    let mut all = HashMap::new();
    for file in ROUTINES {
        // A file that does not parse defines nothing; a test reads all of them.
        let Ok(chunk) = crate::chunks::read(file.name, file.text) else { continue };
        for (name, prototype) in defined(file.name, &chunk) {
            let prototype = chunk[prototype.index()].clone();
            let flow = Flow::new(&prototype, &|_| Vec::new());
            all.insert(name, Routine { file: file.name, prototype, flow });
        }
    }
    all
}

/// The functions that a chunk's main function (the last one) defines.
fn defined(file: &str, chunk: &[Prototype]) -> Vec<(String, PrototypeId)> {
    let Some(main) = chunk.last() else { return Vec::new() };
    let text = |index: usize| match main.constants.get(index) {
        Some(Value::String(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    let mut found = Vec::new();
    for (pc, word) in main.code.iter().enumerate() {
        let i = Instruction(*word);
        if i.opcode() != Some(Opcode::Closure) {
            continue;
        }
        let next = Instruction(main.code.get(pc + 1).copied().unwrap_or(0));
        let name = match next.opcode() {
            Some(Opcode::SetTabUp) if next.c() == i.a() => text(next.b()),
            Some(Opcode::SetField) if next.c() == i.a() => format!("inline.{}", text(next.b())),
            _ => {
                let mut named = main.locals.iter().filter(|local| local.start_pc as usize == pc + 1);
                let local = named.next_back().map_or("?", |local| local.name.as_str());
                format!("{file}:{local}")
            }
        };
        found.push((name, main.prototypes[i.bx()]));
    }
    found
}
