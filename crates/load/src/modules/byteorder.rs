//! `require "byteorder"`: conversions between the machine's byte order and others. An argument is cut to the width of the
//! conversion; results of 16 and 32 bits are unsigned, of 64 bits signed, as in Lunatik.

use mlua::{Table, Value};

use super::module::{Context, Module, integer};
use crate::library::key;

pub(super) const MODULE: Module = Module { name: "byteorder", open };

type Conversion = fn(i64) -> i64;

const CONVERSIONS: &[(&str, Conversion)] = &[
    ("byteorder.hton16", big16),
    ("byteorder.hton32", big32),
    ("byteorder.hton64", big64),
    ("byteorder.ntoh16", big16),
    ("byteorder.ntoh32", big32),
    ("byteorder.ntoh64", big64),
    ("byteorder.htobe16", big16),
    ("byteorder.htobe32", big32),
    ("byteorder.htobe64", big64),
    ("byteorder.be16toh", big16),
    ("byteorder.be32toh", big32),
    ("byteorder.be64toh", big64),
    ("byteorder.htole16", little16),
    ("byteorder.htole32", little32),
    ("byteorder.htole64", little64),
    ("byteorder.le16toh", little16),
    ("byteorder.le32toh", little32),
    ("byteorder.le64toh", little64),
];

fn big16(x: i64) -> i64 {
    i64::from((x as u16).to_be())
}
fn big32(x: i64) -> i64 {
    i64::from((x as u32).to_be())
}
fn big64(x: i64) -> i64 {
    x.to_be()
}
fn little16(x: i64) -> i64 {
    i64::from((x as u16).to_le())
}
fn little32(x: i64) -> i64 {
    i64::from((x as u32).to_le())
}
fn little64(x: i64) -> i64 {
    x.to_le()
}

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    for &(name, convert) in CONVERSIONS {
        let function = context.function(name, move |lua, arguments| {
            Ok(Value::Integer(convert(integer(lua, arguments, 1, key(name))?)))
        })?;
        table.raw_set(key(name), function)?;
    }
    Ok(table)
}
