//! Which library functions the runtime has, by their canonical names (`string.rep`, `type`): those whose rows say so
//! ([`moonhook_library`]), and those that only other functions of the library call.

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

/// What a library function is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// One of [`prelude`], which is written in Lua.
    Lua,
    /// One that changes frames, as neither a routine nor Lua can, with its number: `pcall` and `xpcall` are a part of every program, those of
    /// coroutines of programs that have any.
    Frames(u64),
    /// The routine of that name.
    Routine(String),
}

/// Functions that change frames, by their numbers (`BUILTIN_…`).
pub const OF_FRAMES: [&str; 6] =
    ["pcall", "xpcall", "coroutine.resume", "coroutine.yield", "prim.call_coroutine", "coroutine.close"];

/// The function of a canonical name, if there is one.
pub fn find_function(name: &str) -> Option<Function> {
    if prelude().functions.contains_key(name) {
        return Some(Function::Lua);
    }
    if let Some(number) = OF_FRAMES.iter().position(|known| *known == name) {
        return Some(Function::Frames(number as u64));
    }
    let routine = routine_name(name);
    is_routine(&routine).then_some(Function::Routine(routine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_library::{General, functions};

    #[test]
    fn there_is_each_function_that_its_row_says_and_no_other_one() {
        for function in functions() {
            let (expected, found) = (function.general == General::Runtime, find_function(function.name));
            assert_eq!(found.is_some(), expected, "{}: {found:?}", function.name);
        }
        let of_scripts = prelude().functions.keys().filter(|name| !name.starts_with("prim."));
        of_scripts.for_each(|name| assert!(moonhook_library::find(name).is_some(), "`{name}` has no row"));
        let fast = crate::routine_names().into_iter().filter_map(|name| name.strip_prefix("fast_"));
        let all: Vec<String> = functions().map(|function| routine_name(function.name)).collect();
        fast.for_each(|name| assert!(all.iter().any(|known| known == name), "`{name}` has no row"));
    }
}
