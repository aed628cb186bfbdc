//! `require "tc"`: registers handlers for the tc hooks, a function for each direction, and sends packets elsewhere from there.

use mlua::{Table, Value};
use moonhook_hook::{TC_EGRESS, TC_INGRESS};

use super::attach::{add, add_detach};
use super::module::{Context, Module};
use crate::globals::redirect::forward;
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "tc", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    add(context, &table, "tc.ingress", &TC_INGRESS)?;
    add(context, &table, "tc.egress", &TC_EGRESS)?;
    for name in ["tc.redirect_neigh", "tc.redirect_peer"] {
        let function = context.function(name, move |_, arguments| forward(name, arguments))?;
        table.raw_set(key(name), function)?;
    }
    let clone =
        context.function("tc.clone", |_, arguments| forward("tc.clone", arguments).map(|_| Value::Nil))?;
    table.raw_set(key("tc.clone"), clone)?;
    add_detach(context, &table, "tc.detach", &[&TC_INGRESS, &TC_EGRESS])?;
    Ok(table)
}
