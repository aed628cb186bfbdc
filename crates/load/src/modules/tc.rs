//! `require "tc"`: registers handlers for the tc hooks, a function for each direction.

use mlua::Table;
use moonhook_hook::{TC_EGRESS, TC_INGRESS};

use super::attach::{add, add_detach};
use super::module::{Context, Module};

pub(super) const MODULE: Module = Module { name: "tc", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    add(context, &table, "tc.ingress", &TC_INGRESS)?;
    add(context, &table, "tc.egress", &TC_EGRESS)?;
    add_detach(context, &table, "tc.detach", &[&TC_INGRESS, &TC_EGRESS])?;
    Ok(table)
}
