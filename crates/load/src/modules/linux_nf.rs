//! `require "linux.nf"`: netfilter's constants, with Lunatik's names (include/uapi/linux/netfilter.h, netfilter_ipv4.h, netfilter_ipv6.h).

use super::module::{Context, Module};
use mlua::Table;
use moonhook_hook::{NETFILTER, NETFILTER_POINTS};

pub(super) const MODULE: Module = Module { name: "linux.nf", open };

const FAMILIES: [(&str, i64); 3] = [("INET", 1), ("IPV4", 2), ("IPV6", 10)];

/// `enum nf_ip_hook_priorities`; those of IPv6 are the same numbers.
const PRIORITIES: [(&str, i64); 12] = [
    ("RAW_BEFORE_DEFRAG", -450),
    ("CONNTRACK_DEFRAG", -400),
    ("RAW", -300),
    ("SELINUX_FIRST", -225),
    ("CONNTRACK", -200),
    ("MANGLE", -150),
    ("NAT_DST", -100),
    ("FILTER", 0),
    ("SECURITY", 50),
    ("NAT_SRC", 100),
    ("SELINUX_LAST", 225),
    ("CONNTRACK_HELPER", 300),
];

fn open(context: &mut Context) -> mlua::Result<Table> {
    let lua = context.lua.clone();
    let table = lua.create_table()?;
    table.raw_set("action", lua.create_table_from(NETFILTER.constants())?)?;
    table.raw_set("proto", lua.create_table_from(FAMILIES)?)?;
    table.raw_set("inet", lua.create_table_from(NETFILTER_POINTS.into_iter().zip(0_i64..))?)?;
    for version in ["ip", "ip6"] {
        let of_version = lua.create_table()?;
        of_version.raw_set("pri", lua.create_table_from(PRIORITIES)?)?;
        table.raw_set(version, of_version)?;
    }
    Ok(table)
}
