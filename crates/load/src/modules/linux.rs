//! `require "linux"`: time and random numbers of the kernel, with Lunatik's names, and the clock that packets leave by.

use std::hash::{BuildHasher, RandomState};

use mlua::{Function, Lua, Table, Value};
use moonhook_library::key;

use super::module::{Context, Module, integer};

pub(super) const MODULE: Module = Module { name: "linux", open };

type Body = fn(&Lua, &[Value], &str) -> Result<i64, String>;

const FUNCTIONS: &[(&str, Body)] = &[
    ("linux.time", time),
    ("linux.monotonic", monotonic),
    ("linux.difftime", difference),
    ("linux.random", random),
];

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    for &(name, body) in FUNCTIONS {
        let function = context
            .function(name, move |lua, arguments| body(lua, arguments, key(name)).map(Value::Integer))?;
        table.raw_set(key(name), function)?;
    }
    if context.registry.lunatik.is_some() {
        by_utc(context, &table)?;
    }
    Ok(table)
}

/// Lunatik's `linux.time` goes by UTC, which programs in the kernel cannot read. The difference is what it is at load time.
fn by_utc(context: &Context, table: &Table) -> mlua::Result<()> {
    const BEHIND: &str = "return function(time, ahead) return function() return time() - ahead end end";
    let ahead = context.registry.kernel.seconds_ahead() * 1_000_000_000;
    let behind: Function = context.chunk(BEHIND)?;
    let time: Function = table.raw_get("time")?;
    table.raw_set("time", behind.call::<Function>((time, ahead))?)
}

fn time(_: &Lua, _: &[Value], _: &str) -> Result<i64, String> {
    crate::clock::time().map(|now| now.since_epoch).map_err(|error| error.to_string())
}

fn monotonic(_: &Lua, _: &[Value], _: &str) -> Result<i64, String> {
    crate::clock::time().map(|now| now.monotonic).map_err(|error| error.to_string())
}

fn difference(lua: &Lua, arguments: &[Value], function: &str) -> Result<i64, String> {
    let later = integer(lua, arguments, 1, function)?;
    Ok(later.wrapping_sub(integer(lua, arguments, 2, function)?))
}

/// `random()`: 64 random bits; `random(n)`: 1 … n; `random(m, n)`: m … n.
fn random(lua: &Lua, arguments: &[Value], function: &str) -> Result<i64, String> {
    // Each state has keys of its own, from the system's random numbers.
    let bits = RandomState::new().hash_one(0);
    let (low, high) = match arguments.len() {
        0 => return Ok(bits as i64),
        1 => (1, integer(lua, arguments, 1, function)?),
        2 => (integer(lua, arguments, 1, function)?, integer(lua, arguments, 2, function)?),
        _ => return Err("wrong number of arguments".to_string()),
    };
    if low > high {
        return Err(format!("bad argument #1 to '{function}' (interval is empty)"));
    }
    let Some(size) = high.checked_sub(low).and_then(|distance| distance.checked_add(1)) else {
        return Err(format!("bad argument #1 to '{function}' (interval too large)"));
    };
    Ok(low.wrapping_add((bits % size as u64) as i64))
}
