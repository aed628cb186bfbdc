//! `require "linux.xdp"`: the verdicts of an XDP program (`include/uapi/linux/bpf.h`, `enum xdp_action`).

use mlua::Table;

use super::{Context, Module};

pub(super) const MODULE: Module = Module { name: "linux.xdp", open };

const ACTIONS: &[(&str, i64)] = &[("ABORTED", 0), ("DROP", 1), ("PASS", 2), ("TX", 3), ("REDIRECT", 4)];

fn open(context: &mut Context) -> mlua::Result<Table> {
    context.lua.create_table_from(ACTIONS.iter().copied())
}
