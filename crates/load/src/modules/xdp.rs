//! `require "xdp"`: registers handlers for the XDP hook. Names and behaviour are Lunatik's.

use mlua::Table;
use moonhook_hook::XDP;

use super::attach::{add, add_detach};
use super::module::{Context, Module};

pub(super) const MODULE: Module = Module { name: "xdp", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    add(context, &table, "xdp.attach", &XDP)?;
    add_detach(context, &table, "xdp.detach", &[&XDP])?;
    Ok(table)
}
