//! `require "linux.ct"`: what bits of `pkt.ct.status` mean (`enum ip_conntrack_status`, include/uapi/linux/netfilter/nf_conntrack_common.h).

use super::module::{Context, Module};
use mlua::Table;

pub(super) const MODULE: Module = Module { name: "linux.ct", open };

/// From the lowest bit on.
const STATUS: [&str; 16] = [
    "EXPECTED",
    "SEEN_REPLY",
    "ASSURED",
    "CONFIRMED",
    "SRC_NAT",
    "DST_NAT",
    "SEQ_ADJUST",
    "SRC_NAT_DONE",
    "DST_NAT_DONE",
    "DYING",
    "FIXED_TIMEOUT",
    "TEMPLATE",
    "NAT_CLASH",
    "HELPER",
    "OFFLOAD",
    "HW_OFFLOAD",
];

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let bits = STATUS.into_iter().zip(0..).map(|(name, bit)| (name, 1_i64 << bit));
    table.raw_set("status", context.lua.create_table_from(bits)?)?;
    Ok(table)
}
