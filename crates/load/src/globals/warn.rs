//! `warn`, as the stand-alone Lua has it; in Lua, so that handlers can call it.

use crate::modules::module::Global;

pub(super) const GLOBAL: Global =
    Global { name: "warn", open: |context| context.chunk(include_str!("warn.lua")) };
