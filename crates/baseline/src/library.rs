//! Library functions that are called at once, and the tables that they are in.

use moonhook_ir::FunctionId;
use moonhook_library::{Found, Library, library_of, standard};
use moonhook_runtime::{Function, find_function, is_routine, routine_name};
use moonhook_specialise::is_library_function;

/// A library function that can be called at once.
#[derive(Clone, Copy, Debug)]
pub enum Direct {
    /// `(state, base, count)`.
    Routine(FunctionId),
    /// `(context, state, base, count)`.
    Stub(FunctionId),
}

/// Whether library functions written in Lua see a table of that name: those of Lua, and the primitives.
pub fn is_table(name: &str) -> bool {
    name == "prim" || standard().any(|library| library.name == name && library.has_routines())
}

/// What errors call a library function that has no name where it is called: it is found among the globals and in Lua's own
/// modules (`pushglobalfuncname` in lauxlib.c).
pub fn global_name(canonical: &str) -> &str {
    let is_hidden = |library: &Library| matches!(library.found, Found::Module | Found::Methods);
    let is_hidden = library_of(canonical).is_some_and(is_hidden);
    if is_hidden && is_library_function(canonical) { "?" } else { canonical }
}

impl super::General<'_> {
    /// A library function that can be called at once, by its canonical name.
    pub fn direct(&mut self, name: &str) -> Option<Direct> {
        match find_function(name) {
            Some(Function::Routine(routine)) => Some(Direct::Routine(self.routine(&routine))),
            Some(Function::Lua | Function::Frames(_)) => None,
            None if moonhook_specialise::stubs::is_own(name) => self.own(name).map(Direct::Stub),
            None => None,
        }
    }

    /// The routine or stub that does the usual case of a library function that is written in Lua. Its result is `GENERAL` for all others.
    pub fn fast(&mut self, name: &str) -> Option<Direct> {
        let stub = format!("prim.fast_{name}");
        if moonhook_specialise::stubs::is_own(&stub) {
            return self.own(&stub).map(Direct::Stub);
        }
        let routine = format!("fast_{}", routine_name(name));
        is_routine(&routine).then(|| Direct::Routine(self.routine(&routine)))
    }
}
