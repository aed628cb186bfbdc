//! The contents of tables that states share.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mlua::{IntoLua, Lua, Value};

use crate::share::Shared;

/// What a key has.
#[derive(Clone)]
pub(crate) enum Kept {
    Boolean(bool),
    Integer(i64),
    Object(Shared),
}

impl IntoLua for Kept {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        match self {
            Kept::Boolean(value) => Ok(Value::Boolean(value)),
            Kept::Integer(value) => Ok(Value::Integer(value)),
            Kept::Object(object) => object.into_lua(lua),
        }
    }
}

/// A table; all handles see the same.
#[derive(Default)]
pub(crate) struct Table(Mutex<BTreeMap<Vec<u8>, Kept>>);

impl Table {
    pub fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out all values. What they are may end by that.
    pub fn clear(&self) {
        let values = std::mem::take(&mut *self.lock());
        drop(values);
    }
}
