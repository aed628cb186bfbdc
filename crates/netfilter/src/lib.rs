//! `netfilter` in the states of Lunatik's runtimes (its `lib/luanetfilter.c`): each handler has queues of its own, whose packets the state is asked about.
//!
//! Such handlers share tables and objects with other states of the process, as in Lunatik. Handlers that a script registers when it is loaded are not these:
//! they are compiled (crate `load`).

mod arguments;
mod desk;
mod server;

use std::sync::Arc;

use mlua::{Function, Lua, Table};
use moonhook_lunatik::{Extension, Raise, Surroundings, add};

pub use crate::desk::Desk;
use crate::server::Hook;

/// The module, whose handlers have that in common.
pub fn module(desk: &Arc<Desk>) -> Extension {
    let desk = Arc::clone(desk);
    Extension { name: "netfilter", open: Box::new(move |lua, surroundings| open(lua, surroundings, &desk)) }
}

fn open(lua: &Lua, surroundings: &Surroundings, desk: &Arc<Desk>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let (surroundings, desk) = (surroundings.clone(), Arc::clone(desk));
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
        let callback = surroundings
            .keep(handler(lua, wanted.table)?)
            .ok_or_else(|| failed("the state has no thread"))?;
        let hook = Hook::begin(places, &callback, &desk).map_err(|problem| {
            surroundings.forget(&callback);
            failed(&problem)
        })?;
        let hook = Arc::new(hook);
        desk.add(&hook);
        surroundings.end_with(Arc::clone(&hook) as Arc<_>);
        Ok(lua.create_any_userdata(Registered)?)
    })?;
    Ok(module)
}

/// What is asked about packets: a function in the table, whichever it is then.
fn handler(lua: &Lua, table: Table) -> mlua::Result<Function> {
    let text = "local table, type, error = ...
        return function(skb)
          local hook = table.hook
          if type(hook) ~= 'function' then error('operation not defined', 0) end
          return hook(skb)
        end";
    let [kind, error] = ["type", "error"].map(|name| lua.globals().get::<Function>(name));
    lua.load(text).set_name("=netfilter").call((table, kind?, error?))
}

/// What scripts have of a handler: nothing can be done with it.
struct Registered;
