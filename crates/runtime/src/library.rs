//! Which library functions the runtime has, by their canonical names (`string.rep`, `type`).

use crate::{is_routine, prelude};

/// The routine for a canonical name: `string.rep` is `string_rep`, `type` is `base_type`, `prim.x` is `x`.
pub fn routine_name(name: &str) -> String {
    match name.split_once('.') {
        // Routines that are of use to others too have a form for the library.
        Some(("prim", routine)) => {
            let form = format!("prim_{routine}");
            if is_routine(&form) { form } else { routine.to_string() }
        }
        Some((table, function)) => format!("{table}_{function}"),
        None => format!("base_{name}"),
    }
}

/// Whether the function changes frames, as neither a routine nor Lua can.
pub fn is_protected_call(name: &str) -> bool {
    matches!(name, "pcall" | "xpcall")
}

/// Whether there is such a function: in Lua, as a routine, or as a part of every program.
pub fn has_function(name: &str) -> bool {
    prelude().functions.contains_key(name) || is_protected_call(name) || is_routine(&routine_name(name))
}
