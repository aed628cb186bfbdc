//! `netfilter` in the states of Lunatik's runtimes (its `lib/luanetfilter.c`): each handler has queues of its own, whose packets the state is asked about.
//!
//! Such handlers share tables and objects with other states of the process, as in Lunatik. Handlers that a script registers when it is loaded are not these:
//! they are compiled (crate `load`).

mod arguments;
mod server;

use std::sync::Arc;

use mlua::{Lua, Table};
use moonhook_lunatik::{Extension, Raise, Surroundings, add};

use crate::server::Hook;

/// The module.
pub const MODULE: Extension = Extension { name: "netfilter", open };

fn open(lua: &Lua, surroundings: &Surroundings) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let surroundings = surroundings.clone();
    add(lua, &module, "register", move |lua, given| {
        let failed = |problem: &str| {
            surroundings.warn(&format!("netfilter: {problem}"));
            Raise::At("failed to register netfilter hook".to_string())
        };
        let wanted = arguments::read(given)?;
        if !surroundings.is_softirq() {
            return Err(Raise::At("runtime context mismatch".to_string()));
        }
        let places = wanted.places().map_err(|problem| failed(&problem))?;
        let callback = surroundings.keep(wanted.hook).ok_or_else(|| failed("the state has no thread"))?;
        let hook = Hook::begin(&places, &callback).map_err(|problem| failed(&problem))?;
        let hook = Arc::new(hook);
        surroundings.end_with(Arc::clone(&hook) as Arc<_>);
        Ok(lua.create_any_userdata(Registered)?)
    })?;
    Ok(module)
}

/// What scripts have of a handler: nothing can be done with it.
struct Registered;
