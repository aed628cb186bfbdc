//! `require "linux.xdp"` and its like: the verdicts of a hook's programs.

use mlua::Table;
use moonhook_hook::{CGROUP_INGRESS, Hook, TC_INGRESS, XDP};

use super::module::{Context, Module};

pub(super) const XDP_MODULE: Module = Module { name: "linux.xdp", open: |context| verdicts(context, &XDP) };

/// Both directions have the same.
pub(super) const CGROUP_MODULE: Module =
    Module { name: "linux.cgroup", open: |context| verdicts(context, &CGROUP_INGRESS) };

/// Both directions have the same.
pub(super) const TC_MODULE: Module =
    Module { name: "linux.tc", open: |context| verdicts(context, &TC_INGRESS) };

/// Those of the hook that `attach` registers for.
pub(super) const CHOSEN_MODULE: Module =
    Module { name: "linux.verdict", open: |context| verdicts(context, context.registry.chosen) };

fn verdicts(context: &mut Context, hook: &Hook) -> mlua::Result<Table> {
    context.lua.create_table_from(hook.constants())
}
