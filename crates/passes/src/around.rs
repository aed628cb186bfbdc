//! What is around a function.

use moonhook_hook::{Context, Hook};
use moonhook_ir::{Function, Map, Module};

/// What passes may know of the module that a function is in.
pub struct Around<'m> {
    pub maps: &'m [Map],
    /// What the module's programs get.
    pub context: Option<&'static Context>,
}

impl Around<'_> {
    /// A module's functions, and what is around them.
    pub fn of(module: &mut Module) -> (&mut [Function], Around<'_>) {
        let context = module.section().and_then(Hook::of_section).map(|hook| &hook.context);
        let Module { functions, maps, .. } = module;
        (functions, Around { maps, context })
    }
}
