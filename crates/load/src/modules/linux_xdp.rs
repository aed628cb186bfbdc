//! `require "linux.xdp"`: the verdicts of an XDP program.

use mlua::Table;
use moonhook_hook::XDP;

use super::module::{Context, Module};

pub(super) const MODULE: Module = Module { name: "linux.xdp", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    context.lua.create_table_from(XDP.constants())
}
