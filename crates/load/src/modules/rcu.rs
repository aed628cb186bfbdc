//! `require "rcu"`: tables that several parties share, under the name that Lunatik gave them. Its tables grow without bound and
//! take a number of hash buckets; a map has a capacity, which here is no smaller than that of any other shared table.

use mlua::{Function, Table, Value};
use moonhook_schema::{CAPACITY, Declaration};

use super::module::{Context, Module, integer};

pub(super) const MODULE: Module = Module { name: "rcu", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let module = context.lua.create_table()?;
    let declared = context.registry.declared.clone();
    let table = context.function("rcu.table", move |lua, arguments| {
        let buckets = match arguments.first() {
            None | Some(Value::Nil) => 1,
            Some(_) => integer(lua, arguments, 1, "table")?,
        };
        let capacity = u32::try_from(buckets).ok().filter(|buckets| *buckets > 0);
        let capacity = capacity.ok_or("bad argument #1 to 'table' (out of bounds)")?.max(CAPACITY);
        let table = lua.create_table().map_err(|error| error.to_string())?;
        declared.add(&table, Declaration { capacity: Some(capacity), ..Declaration::default() })?;
        Ok(Value::Table(table))
    })?;
    module.raw_set("table", table)?;
    module.raw_set("map", context.chunk::<Function>(include_str!("rcu.lua"))?)?;
    Ok(module)
}
