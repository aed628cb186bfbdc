//! Which library functions there are at packet time, and what each of them is.

use moonhook_ir::FunctionId;
use moonhook_snapshot::Prototype;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The library functions that are written in Lua.
#[derive(Default)]
pub struct Library {
    pub prototypes: Vec<Prototype>,
    /// By canonical name: index into `prototypes`.
    pub functions: HashMap<String, usize>,
}

/// What a canonical name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function of [`Library`].
    Lua,
    /// `pcall` or `xpcall`, which change frames.
    Protected,
    /// The routine of that name.
    Routine(String),
    /// One of Moonhook's own.
    Own,
    /// There is no such function at packet time.
    Missing,
}

/// A library function that can be called at once.
#[derive(Clone, Copy, Debug)]
pub enum Direct {
    /// `(state, base, count)`.
    Routine(FunctionId),
    /// `(context, state, base, count)`.
    Thunk(FunctionId),
}

/// Tables that library functions written in Lua see.
const TABLES: &[&str] = &["math", "prim", "string", "table", "utf8"];

pub fn is_table(name: &str) -> bool {
    TABLES.contains(&name)
}

/// The library, compiled on first use.
pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let prelude = moonhook_runtime::prelude();
        Library { prototypes: prelude.prototypes.clone(), functions: prelude.functions.clone() }
    })
}

/// The routine for a canonical name: `string.rep` is `string_rep`, `type` is `base_type`, `prim.x` is `x`.
fn routine_name(name: &str) -> String {
    match name.split_once('.') {
        // Routines that are of use to others too have a form for the library.
        Some(("prim", routine)) => {
            let form = format!("prim_{routine}");
            if moonhook_runtime::is_routine(&form) { form } else { routine.to_string() }
        }
        Some((table, function)) => format!("{table}_{function}"),
        None => format!("base_{name}"),
    }
}

pub fn kind(name: &str) -> Kind {
    if library().functions.contains_key(name) {
        return Kind::Lua;
    }
    if matches!(name, "pcall" | "xpcall") {
        return Kind::Protected;
    }
    let routine = routine_name(name);
    if moonhook_runtime::is_routine(&routine) {
        return Kind::Routine(routine);
    }
    if super::thunks::is_own(name) { Kind::Own } else { Kind::Missing }
}

impl super::General<'_> {
    /// The routine that does the usual case of a library function that is written in Lua. Its result is `GENERAL` for all others.
    pub fn fast(&mut self, name: &str) -> Option<Direct> {
        let routine = format!("fast_{}", routine_name(name));
        moonhook_runtime::is_routine(&routine).then(|| Direct::Routine(self.routine(&routine)))
    }
}

pub fn exists(name: &str) -> bool {
    kind(name) != Kind::Missing
}
