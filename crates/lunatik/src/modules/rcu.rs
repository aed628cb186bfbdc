//! `rcu`: tables that states share (Lunatik's `lib/luarcu.c`). Keys are strings; values are objects, booleans and integers, and nil removes.

use std::sync::Arc;

use mlua::{Lua, Value};

use crate::arguments::{Arguments, Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::share::{SINGLE, Shared, shared};
use crate::table::{Kept, Table};

pub(crate) const MODULE: Module = Module { name: "rcu", open, shared: Some(shared::<Table>) };

/// Longer keys are refused, as there is no memory for them in Lunatik (`LUARCU_MAXKEY`).
const LONGEST_KEY: usize = 255;

/// The kernel gives no more than `INT_MAX` bytes at once (`kvmalloc`), and a bucket has a pointer. What is asked for has no other meaning here.
const MOST_BUCKETS: i64 = i32::MAX as i64 / 8;

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<mlua::Table> {
    let module = lua.create_table()?;
    add(lua, &module, "table", |_, arguments| {
        if !(0..=MOST_BUCKETS).contains(&arguments.integer_or(1, 0)?) {
            return Err(Raise::Bare("not enough memory".to_string()));
        }
        Ok(Object(Arc::new(Table::default())))
    })?;
    // `rcu.map` goes over what was there when it began; it is in Lua, whose errors then are the script's own.
    let entries = crate::arguments::function(lua, ("map", Counts::All), |lua, arguments| {
        let table = arguments.object::<Object<Table>>(1, "rcu")?;
        arguments.function(2)?;
        let (keys, values) = (lua.create_table()?, lua.create_table()?);
        let entries = table.lock().clone();
        for (key, value) in entries {
            keys.raw_push(lua.create_string(key)?)?;
            values.raw_push(value)?;
        }
        Ok((keys, values))
    })?;
    let map: mlua::Function = lua
        .load("local entries = ... return function(...) local keys, values = entries(...) local _, f = ... for i = 1, #keys do f(keys[i], values[i]) end end")
        .set_name("=moonhook")
        .call(entries)?;
    module.raw_set("map", map)?;
    Ok(module)
}

/// The value at this argument; `None` is nil.
fn kept(lua: &Lua, arguments: &Arguments, number: usize) -> Result<Option<Kept>, Raise> {
    Ok(Some(match arguments.value(number) {
        Value::Nil => return Ok(None),
        Value::Boolean(value) => Kept::Boolean(value),
        Value::Integer(value) => Kept::Integer(value),
        Value::Number(_) => Kept::Integer(arguments.integer(number).unwrap_or(0)),
        value => match Shared::of(lua, &value) {
            Some(object) if object.is_single() => return Err(arguments.error(number, SINGLE)),
            Some(object) => Kept::Object(object),
            None => return Err(arguments.error(number, "unsupported type")),
        },
    }))
}

impl Class for Table {
    const NAME: &'static str = "rcu";
    const COUNTS: Counts = Counts::BehindObject;
    const META: &'static [&'static str] = &["__index", "__newindex"];

    fn metatable(lua: &Lua) -> mlua::Result<mlua::Table> {
        let methods = Methods::<Table>::new(lua)?;
        methods.add("__index", |_, table, arguments| {
            let key = arguments.bytes(2)?;
            let value = table.lock().get(&key).cloned();
            Ok(value)
        })?;
        methods.add("__newindex", |lua, table, arguments| {
            let key = arguments.bytes(2)?;
            let value = kept(lua, arguments, 3)?;
            let before = match value {
                Some(_) if key.len() > LONGEST_KEY => return Err(Raise::At("not enough memory".to_string())),
                Some(value) => table.lock().insert(key, value),
                None => table.lock().remove(&key),
            };
            // Outside the lock: an object may end with it.
            drop(before);
            Ok(())
        })?;
        Ok(methods.table)
    }
}
