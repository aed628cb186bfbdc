//! Library functions that are called at once, and the tables that they are in.

use moonhook_ir::FunctionId;
use moonhook_runtime::{Function, find_function, is_routine, routine_name};

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

impl super::General<'_> {
    /// A library function that can be called at once, by its canonical name.
    pub fn direct(&mut self, name: &str) -> Option<Direct> {
        match find_function(name) {
            Some(Function::Routine(routine)) => Some(Direct::Routine(self.routine(&routine))),
            Some(Function::Lua | Function::Protected) => None,
            None if moonhook_specialise::stubs::is_own(name) => self.own(name).map(Direct::Stub),
            None => None,
        }
    }

    /// The routine that does the usual case of a library function that is written in Lua. Its result is `GENERAL` for all others.
    pub fn fast(&mut self, name: &str) -> Option<Direct> {
        let routine = format!("fast_{}", routine_name(name));
        is_routine(&routine).then(|| Direct::Routine(self.routine(&routine)))
    }
}
