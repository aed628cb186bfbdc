//! `require "ip"`: IP addresses out of texts, and their prefixes (docs/packet.md).

use std::net::IpAddr;

use mlua::{Lua, Table, Value};
use moonhook_library::key;

use super::module::{Context, Module, integer, text};

pub(super) const MODULE: Module = Module { name: "ip", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    for (name, body) in [("ip.parse", parse as Body), ("ip.prefix", prefix)] {
        let function = context.text_function(name, move |lua, arguments| {
            Ok(body(lua, arguments, key(name))?.map(|address| address.to_string()))
        })?;
        table.raw_set(key(name), function)?;
    }
    Ok(table)
}

type Body = fn(&Lua, &[Value], &str) -> Result<Option<IpAddr>, String>;

fn parse(lua: &Lua, arguments: &[Value], function: &str) -> Result<Option<IpAddr>, String> {
    Ok(address(&text(lua, arguments, 1, function)?))
}

/// Any way of writing an address: RFC 4291 § 2.2, and four decimal numbers without leading zeros.
fn address(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn prefix(lua: &Lua, arguments: &[Value], function: &str) -> Result<Option<IpAddr>, String> {
    let text = text(lua, arguments, 1, function)?;
    let length = integer(lua, arguments, 2, function)?;
    let bad = |number, problem: &str| format!("bad argument #{number} to '{function}' ({problem})");
    let address = address(&text).ok_or_else(|| bad(1, "IP address expected"))?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let host = u32::try_from(length).ok().and_then(|length| u32::checked_sub(bits, length));
    let host = host.ok_or_else(|| bad(2, &format!("integer from 0 to {bits} expected")))?;
    Ok(Some(match address {
        IpAddr::V4(address) => {
            IpAddr::V4((u32::from(address) & u32::MAX.checked_shl(host).unwrap_or(0)).into())
        }
        IpAddr::V6(address) => {
            IpAddr::V6((u128::from(address) & u128::MAX.checked_shl(host).unwrap_or(0)).into())
        }
    }))
}
