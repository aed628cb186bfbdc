//! What is around a function.

use moonhook_hook::{Context, Hook};
use moonhook_ir::{Function, Map, Module};

/// What passes may know of the module that a function is in.
pub struct Around<'m> {
    pub maps: &'m [Map],
}

impl Around<'_> {
    /// A module's functions, and what is around them.
    pub fn of(module: &mut Module) -> (&mut [Function], Around<'_>) {
        let Module { functions, maps, .. } = module;
        (functions, Around { maps })
    }
}

/// What the programs get whose context the function has.
pub fn context_of(function: &Function) -> Option<&'static Context> {
    function.section().and_then(Hook::of_section).map(|hook| &hook.context)
}
