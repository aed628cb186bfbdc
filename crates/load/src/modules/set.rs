//! `require "set"`: sets of strings, under the names that Lunatik gave them.

use mlua::Table;

use super::module::{Context, Module};

pub(super) const MODULE: Module = Module { name: "set", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    context.chunk(include_str!("set.lua"))
}
