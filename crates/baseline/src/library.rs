//! Which library functions there are at packet time, and what each of them is.

use moonhook_ir::FunctionId;
use moonhook_runtime::routine_name;
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
    Stub(FunctionId),
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

pub fn kind(name: &str) -> Kind {
    if library().functions.contains_key(name) {
        return Kind::Lua;
    }
    if moonhook_runtime::is_protected_call(name) {
        return Kind::Protected;
    }
    let routine = routine_name(name);
    if moonhook_runtime::is_routine(&routine) {
        return Kind::Routine(routine);
    }
    if moonhook_lower::stubs::is_own(name) { Kind::Own } else { Kind::Missing }
}

impl super::General<'_> {
    /// The routine that does the usual case of a library function that is written in Lua. Its result is `GENERAL` for all others.
    pub fn fast(&mut self, name: &str) -> Option<Direct> {
        let routine = format!("fast_{}", routine_name(name));
        moonhook_runtime::is_routine(&routine).then(|| Direct::Routine(self.routine(&routine)))
    }
}
