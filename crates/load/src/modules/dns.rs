//! `require "dns"`: answers to questions (docs/packet.md). What is done to the packet is in Lua.

use std::net::IpAddr;

use mlua::{Function, Lua, Table, Value};
use moonhook_library::key;
use moonhook_library::own::dns::ANSWER;

use super::module::{Context, Module, packet_argument, type_error};
use crate::packet_time;

pub(super) const MODULE: Module = Module { name: "dns", open };

/// Seconds for which an answer may be kept if nothing else is wanted.
const TTL: u32 = 60;

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let change = context.chunk::<Function>(include_str!("dns.lua"))?;
    let answer = context.function(ANSWER, move |lua, arguments| answer(lua, arguments, &change))?;
    table.raw_set(key(ANSWER), answer)?;
    Ok(table)
}

fn answer(lua: &Lua, arguments: &[Value], change: &Function) -> Result<Value, String> {
    let name = key(ANSWER);
    let packet = packet_argument(lua, arguments, name, "read only")?;
    let hook = packet_time::hook().ok_or("only handlers answer questions")?;
    if hook.lengths.is_none() {
        return Err(format!("packets cannot change their length at {}", hook.name));
    }
    let Some(Value::Table(fields)) = arguments.get(1) else {
        return Err(type_error(arguments, 2, name, "table"));
    };
    let field = |field: &str| fields.get::<Value>(field).map_err(|error| error.to_string());
    let [address, ttl, rcode] = [field("address")?, field("ttl")?, field("rcode")?];
    let bad = |problem: &str| format!("bad argument #2 to '{name}' ({problem})");
    let address = match address {
        Value::Nil => None,
        Value::String(text) => Some(bytes(&text.as_bytes()).ok_or_else(|| bad(NO_ADDRESS))?),
        _ => return Err(bad(NO_ADDRESS)),
    };
    let address =
        address.map(|bytes| lua.create_string(bytes)).transpose().map_err(|error| error.to_string())?;
    let ttl = number(&ttl, u32::MAX, TTL).ok_or_else(|| bad("field 'ttl': integer of 32 bits expected"))?;
    let rcode = number(&rcode, 15, 0).ok_or_else(|| bad("field 'rcode': integer of 4 bits expected"))?;
    let problem = change.call::<Option<String>>((packet, address, ttl, rcode));
    match problem.map_err(|error| error.to_string())? {
        Some(problem) => Err(problem),
        None => {
            let verdict = hook.plain_verdict("TX").or(hook.redirect()).unwrap_or_default();
            Ok(Value::Integer(verdict.into()))
        }
    }
}

const NO_ADDRESS: &str = "field 'address': IP address expected";

/// The bytes of an address that is written as packets' are.
fn bytes(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let address: IpAddr = text.parse().ok()?;
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    (address.to_string() == text).then_some(bytes)
}

/// An integer up to `most`; `default` for nil.
fn number(value: &Value, most: u32, default: u32) -> Option<u32> {
    match value {
        Value::Nil => Some(default),
        Value::Integer(number) => u32::try_from(*number).ok().filter(|number| *number <= most),
        _ => None,
    }
}
