//! Library functions that are written in Lua, as general code compiles them.

use crate::sources::PRELUDE;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Value};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The functions of `prelude/*.lua`.
#[derive(Debug, Default)]
pub struct Prelude {
    pub prototypes: Vec<Prototype>,
    /// By canonical name (`table.sort`, `tostring`): index into `prototypes`. Their only upvalue is `_ENV`.
    pub functions: HashMap<String, usize>,
}

/// The prelude, compiled on first use. In its files `function base.f` defines the global function f.
pub fn prelude() -> &'static Prelude {
    static PRELUDE_FUNCTIONS: OnceLock<Prelude> = OnceLock::new();
    PRELUDE_FUNCTIONS.get_or_init(|| {
        let mut prelude = Prelude::default();
        for file in PRELUDE {
            // A file that does not parse defines nothing; a test reads all of them.
            if let Ok(chunk) = crate::chunks::read(file.name, file.text) {
                prelude.add(chunk);
            }
        }
        prelude
    })
}

impl Prelude {
    fn add(&mut self, chunk: Vec<Prototype>) {
        let base = self.prototypes.len();
        if let Some(main) = chunk.last() {
            for (name, index) in defined(main) {
                self.functions.insert(name, base + index);
            }
        }
        self.prototypes.extend(chunk.into_iter().map(|mut prototype| {
            prototype.prototypes.iter_mut().for_each(|inner| inner.0 += base as u32);
            prototype
        }));
    }
}

/// The functions that a main function puts into fields of global tables.
fn defined(main: &Prototype) -> Vec<(String, usize)> {
    let text = |index: usize| match main.constants.get(index) {
        Some(Value::String(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    let code: Vec<Instruction> = main.code.iter().map(|word| Instruction(*word)).collect();
    let mut tables: HashMap<usize, String> = HashMap::new();
    let mut closures: HashMap<usize, usize> = HashMap::new();
    let mut found = Vec::new();
    for i in code {
        match i.opcode() {
            Some(Opcode::GetTabUp) => {
                tables.insert(i.a(), text(i.c()));
            }
            Some(Opcode::Closure) => {
                closures.insert(i.a(), main.prototypes[i.bx()].index());
            }
            Some(Opcode::SetField) => {
                if let (Some(table), Some(closure)) = (tables.get(&i.a()), closures.get(&i.c())) {
                    let name = text(i.b());
                    let full = if table == "base" { name } else { format!("{table}.{name}") };
                    found.push((full, *closure));
                }
            }
            _ => {}
        }
    }
    found
}
