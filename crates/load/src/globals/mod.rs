//! Moonhook's own global variables: what a script has besides Lua's library without asking for it.
//!
//! Each is a file here and a row in [`GLOBALS`].

mod event;
mod map;
mod on;
mod shape;
mod signal;
mod timer;

use mlua::Value;

use crate::modules::Context;

/// A global variable.
pub(crate) struct Global {
    pub name: &'static str,
    /// A function or a table of functions.
    pub open: fn(&mut Context) -> mlua::Result<Value>,
}

pub(crate) const GLOBALS: &[Global] =
    &[event::GLOBAL, map::GLOBAL, on::GLOBAL, signal::GLOBAL, timer::GLOBAL];
