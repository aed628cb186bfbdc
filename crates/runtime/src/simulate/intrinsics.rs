//! The intrinsics of runtime Lua as functions.

use mlua::{Lua, Table};

use super::memory::Shared;

/// Puts them into `names`.
pub(super) fn define(lua: &Lua, names: &Table, memory: &Shared) -> mlua::Result<()> {
    for size in [1, 2, 4, 8] {
        let shared = memory.clone();
        let load = lua.create_function(move |_, address: i64| Ok(shared.borrow().load(address, size)))?;
        names.raw_set(format!("u{}", 8 * size), load)?;
        let shared = memory.clone();
        let store = lua.create_function(move |_, (address, value): (i64, i64)| {
            let mut memory = shared.borrow_mut();
            memory.store(address, size, value);
            match memory.take_lost() {
                None => Ok(()),
                Some(address) => Err(mlua::Error::runtime(format!("store to nowhere: {address:#x}"))),
            }
        })?;
        names.raw_set(format!("set{}", 8 * size), store)?;
    }
    for (name, f) in UNARY {
        names.raw_set(*name, lua.create_function(move |_, a: i64| Ok(f(a)))?)?;
    }
    for (name, f) in BINARY {
        names.raw_set(*name, lua.create_function(move |_, (a, b): (i64, i64)| Ok(f(a, b)))?)?;
    }
    names.raw_set("ult", lua.create_function(|_, (a, b): (i64, i64)| Ok((a as u64) < b as u64))?)
}

type Unary = fn(i64) -> i64;
type Binary = fn(i64, i64) -> i64;

const UNARY: &[(&str, Unary)] = &[
    ("swap16", |a| i64::from((a as u16).swap_bytes())),
    ("swap32", |a| i64::from((a as u32).swap_bytes())),
    ("swap64", |a| a.swap_bytes()),
    ("sx8", |a| i64::from(a as i8)),
    ("sx16", |a| i64::from(a as i16)),
    ("sx32", |a| i64::from(a as i32)),
];

/// Division as BPF defines it (Documentation/bpf/standardization/instruction-set.rst): x / 0 is 0, x % 0 is x; signed
/// division truncates.
const BINARY: &[(&str, Binary)] = &[
    ("shl", |a, n| a.wrapping_shl(n as u32)),
    ("shr", |a, n| (a as u64).wrapping_shr(n as u32) as i64),
    ("sar", |a, n| a.wrapping_shr(n as u32)),
    ("udiv", |a, b| (a as u64).checked_div(b as u64).unwrap_or(0) as i64),
    ("umod", |a, b| (a as u64).checked_rem(b as u64).unwrap_or(a as u64) as i64),
    ("sdiv", |a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
    ("smod", |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
];
