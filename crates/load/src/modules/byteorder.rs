//! `require "byteorder"`: conversions between the machine's byte order and others, each as its row says.

use mlua::{Table, Value};
use moonhook_library::key;
use moonhook_library::own::Width;
use moonhook_library::own::byteorder::{CONVERSIONS, Conversion};

use super::module::{Context, Module, integer};

pub(super) const MODULE: Module = Module { name: "byteorder", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    for (name, conversion) in CONVERSIONS {
        let function = context.function(name, move |lua, arguments| {
            Ok(Value::Integer(converted(integer(lua, arguments, 1, key(name))?, conversion)))
        })?;
        table.raw_set(key(name), function)?;
    }
    Ok(table)
}

/// The argument is cut to the width; results of 64 bits are signed, others not.
pub(super) fn converted(x: i64, Conversion { width, big }: Conversion) -> i64 {
    match (width, big) {
        (Width::B1, _) => i64::from(x as u8),
        (Width::B2, true) => i64::from((x as u16).to_be()),
        (Width::B2, false) => i64::from((x as u16).to_le()),
        (Width::B4, true) => i64::from((x as u32).to_be()),
        (Width::B4, false) => i64::from((x as u32).to_le()),
        (Width::B8, true) => x.to_be(),
        (Width::B8, false) => x.to_le(),
    }
}
