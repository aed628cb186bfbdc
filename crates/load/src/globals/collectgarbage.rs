//! `collectgarbage`: Lua's own, behind a function in Lua that knows what to answer where there is no collector.

use crate::modules::module::Global;

pub(super) const GLOBAL: Global =
    Global { name: "collectgarbage", open: |context| context.chunk(include_str!("collectgarbage.lua")) };
