//! `require "mac"`: MAC addresses out of texts and bytes (docs/packet.md).

use mlua::Table;
use moonhook_library::key;

use super::module::{Context, Module, text};

pub(super) const MODULE: Module = Module { name: "mac", open };

const PARSE: &str = "mac.parse";

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let parse = context.text_function(PARSE, |lua, arguments| {
        let address = address(&text(lua, arguments, 1, key(PARSE))?);
        Ok(address.map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":")))
    })?;
    table.raw_set(key(PARSE), parse)?;
    Ok(table)
}

/// Six bytes, or six pairs of hexadecimal digits with one separator, colons or hyphens, between them (IEEE 802-2014 § 8.1).
fn address(text: &[u8]) -> Option<[u8; 6]> {
    if let Ok(bytes) = text.try_into() {
        return Some(bytes);
    }
    let separator = *text.get(2).filter(|separator| b":-".contains(separator))?;
    let mut bytes = [0; 6];
    let mut pairs = text.split(|byte| *byte == separator);
    for byte in &mut bytes {
        let pair = pairs.next().filter(|pair| pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit))?;
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    pairs.next().is_none().then_some(bytes)
}
