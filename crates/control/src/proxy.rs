//! Makes the Lua table that became a map a proxy of that map: the same table, but what is read and assigned is in the kernel.

use crate::convert::{ProxyTarget, Space, argument, one, said, value};
use crate::record::Level;
use crate::table::SharedTable;
use crate::traversal;
use mlua::{Lua, MultiValue, Table, Value};
use moonhook_schema::{Datum, Type, decode_key};
use std::rc::Rc;
use std::sync::Arc;

/// A shared table and how its values look from Lua.
pub(crate) struct Proxy {
    pub space: Rc<Space>,
    pub table: Arc<SharedTable>,
    /// If values are records.
    level: Option<Rc<Level>>,
}

/// Empties `target` and connects it.
pub(crate) fn connect(
    lua: &Lua,
    space: &Rc<Space>,
    target: &Table,
    table: &Arc<SharedTable>,
) -> mlua::Result<()> {
    let level = match &table.schema().value {
        Type::Record(fields) => Some(Level::make(lua, space, table, Vec::new(), fields)?),
        _ => None,
    };
    let proxy = Rc::new(Proxy { space: Rc::clone(space), table: Arc::clone(table), level });
    let metatable = lua.create_table()?;
    space.kinds.borrow_mut().insert(metatable.to_pointer(), ProxyTarget::Table);
    let method = |name: &str, body: Body| {
        let proxy = Rc::clone(&proxy);
        let function = moonhook_load::raising(lua, move |lua, arguments| body(&proxy, lua, &arguments))?;
        metatable.raw_set(name, function)
    };
    method("__index", Proxy::index)?;
    method("__newindex", Proxy::assign)?;
    method("__len", Proxy::length)?;
    method("__pairs", traversal::pairs)?;
    metatable.raw_set("__metatable", false)?;
    space.steppers.raw_set(&metatable, traversal::step(lua, &proxy)?)?;
    target.clear()?;
    target.set_metatable(Some(metatable))
}

type Body = fn(&Rc<Proxy>, &Lua, &MultiValue) -> Result<MultiValue, String>;

impl Proxy {
    /// What an entry's value is for Lua; `key` are the bytes of its key.
    pub fn value(&self, lua: &Lua, key: &[u8], datum: &Datum) -> mlua::Result<Value> {
        match (&self.level, datum) {
            (Some(level), Datum::Record(_)) => level.proxy(lua, key),
            _ => value(lua, datum),
        }
    }

    /// What the bytes of a key are for Lua.
    pub fn key(&self, lua: &Lua, key: &[u8]) -> mlua::Result<Value> {
        self.space.shown_key(lua, &decode_key(self.table.schema(), key))
    }

    fn index(self: &Rc<Proxy>, lua: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        // What cannot be in the table is not.
        let Ok(key) = self.space.datum(&argument(arguments, 1)) else { return Ok(one(Value::Nil)) };
        self.get(lua, &key).map(one)
    }

    fn get(&self, lua: &Lua, key: &Datum) -> Result<Value, String> {
        let Ok(key) = self.table.key(key) else { return Ok(Value::Nil) };
        match self.table.value(&key).map_err(said)? {
            Some(datum) => self.value(lua, &key, &datum).map_err(said),
            None => Ok(Value::Nil),
        }
    }

    fn assign(self: &Rc<Proxy>, _: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let name = self.table.name();
        let bad = |what: &str, problem: String| format!("bad {what} for table '{name}' ({problem})");
        let key = argument(arguments, 1);
        if key.is_nil() {
            return Err("table index is nil".into());
        }
        let key = self.space.datum(&key).map_err(|problem| bad("key", problem))?;
        let value = self.space.datum(&argument(arguments, 2)).map_err(|problem| bad("value", problem))?;
        self.table.set(&key, &value).map_err(said)?;
        Ok(MultiValue::new())
    }

    /// A border (Lua manual § 3.4.7): some `n` with an entry, or 0, so that `n + 1` has none.
    fn length(self: &Rc<Proxy>, _: &Lua, _: &MultiValue) -> Result<MultiValue, String> {
        let is_there = |number: i64| -> Result<bool, String> {
            let Ok(key) = self.table.key(&Datum::Integer(number)) else { return Ok(false) };
            Ok(self.table.value(&key).map_err(said)?.is_some())
        };
        let (mut low, mut high) = (0i64, 1i64);
        while is_there(high)? {
            let Some(next) = high.checked_mul(2) else { break };
            (low, high) = (high, next);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_there(middle)? { low = middle } else { high = middle }
        }
        Ok(one(Value::Integer(low)))
    }
}
