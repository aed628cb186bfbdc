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
    flow: OnceLock<Flow>,
}

impl Routine {
    pub fn flow(&self) -> &Flow {
        self.flow.get_or_init(|| Flow::new(&self.prototype, &|_| Vec::new()))
    }
}

/// The functions of a file, read when one of them is asked for: `name` for global ones, `inline.name`, and `file:name` for local
/// ones.
static FILES: [OnceLock<HashMap<String, Routine>>; ROUTINES.len()] =
    [const { OnceLock::new() }; ROUTINES.len()];

/// By global function, the file that defines it: a line of it begins with `function name(`.
static DEFINED: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();

/// The global function with that name.
pub fn routine(name: &str) -> Option<&'static Routine> {
    if name.contains(['.', ':']) { None } else { find(name) }
}

/// A function by the name that the compiler gives it.
pub(super) fn find(name: &str) -> Option<&'static Routine> {
    let of_file = |file: &str| ROUTINES.iter().position(|other| other.name == file);
    let number = match name.split_once(':') {
        Some((file, _)) => of_file(file)?,
        None => *DEFINED.get_or_init(find_definitions).get(name)?,
    };
    FILES[number].get_or_init(|| read(number)).get(name)
}

fn find_definitions() -> HashMap<&'static str, usize> {
    let definition = |line: &'static str| Some(line.strip_prefix("function ")?.split_once('(')?.0);
    let names = |(number, text): (usize, &'static str)| {
        text.lines().filter_map(definition).map(move |name| (name, number))
    };
    ROUTINES.iter().map(|file| file.text).enumerate().flat_map(names).collect()
}

/// The names of all global functions, sorted.
pub fn names() -> Vec<&'static str> {
    let all = (0..ROUTINES.len()).flat_map(|number| FILES[number].get_or_init(|| read(number)).keys());
    let mut names: Vec<&str> = all.map(String::as_str).filter(|name| !name.contains(['.', ':'])).collect();
    names.sort_unstable();
    names
}

fn read(number: usize) -> HashMap<String, Routine> {
    let file = &ROUTINES[number];
    // A file that does not parse defines nothing; a test reads all of them.
    let chunk = crate::chunks::read(file.name, file.text).unwrap_or_default();
    let routine = |(name, prototype): (String, PrototypeId)| {
        let prototype = chunk[prototype.index()].clone();
        (name, Routine { file: file.name, prototype, flow: OnceLock::new() })
    };
    defined(file.name, &chunk).into_iter().map(routine).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_found_in_the_file_that_defines_it() {
        for (number, routine) in ROUTINES.iter().enumerate() {
            let functions = read(number);
            assert!(!functions.is_empty(), "{} defines nothing", routine.name);
            for name in functions.keys() {
                let found = find(name).unwrap_or_else(|| panic!("{name} is not found"));
                assert_eq!(found.file, routine.name, "{name}");
            }
        }
    }
}
