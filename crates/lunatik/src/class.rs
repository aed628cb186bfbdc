//! Objects that scripts have: a handle on something that several states may share.

use std::ops::Deref;
use std::sync::Arc;

use mlua::{Lua, Table, UserData, UserDataFields};

use crate::arguments::{Arguments, Counts, Raise, function};

/// A class of objects.
pub(crate) trait Class: Send + Sync + Sized + 'static {
    /// What errors call it.
    const NAME: &'static str;
    /// Whether errors count the object among the arguments of a method: so it is with classes that Lunatik locks around each call.
    const COUNTS: Counts;
    /// The metamethods that it has.
    const META: &'static [&'static str];

    /// Whether the object belongs to the state that has made it.
    fn is_single(&self) -> bool {
        false
    }

    /// Its metatable: `__index`, and the functions of [`Class::META`].
    fn metatable(lua: &Lua) -> mlua::Result<Table>;
}

/// A script's handle.
pub(crate) struct Object<T>(pub Arc<T>);

impl<T> Clone for Object<T> {
    fn clone(&self) -> Object<T> {
        Object(Arc::clone(&self.0))
    }
}

impl<T> Deref for Object<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: Class> UserData for Object<T> {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field("__name", T::NAME);
        for name in T::META {
            fields.add_meta_field_with(*name, |lua| T::metatable(lua)?.raw_get::<mlua::Value>(*name));
        }
    }
}

/// Fills a table with functions.
pub(crate) struct Methods<'a, T> {
    lua: &'a Lua,
    pub table: Table,
    class: std::marker::PhantomData<T>,
}

impl<'a, T: Class> Methods<'a, T> {
    pub fn new(lua: &'a Lua) -> mlua::Result<Methods<'a, T>> {
        Ok(Methods { lua, table: lua.create_table()?, class: std::marker::PhantomData })
    }

    /// Adds a method, which gets the object.
    pub fn add<R: mlua::IntoLuaMulti>(
        &self,
        name: &'static str,
        called: impl Fn(&Lua, &Arc<T>, &Arguments) -> Result<R, Raise> + 'static,
    ) -> mlua::Result<()> {
        let method = function(self.lua, (name, T::COUNTS), move |lua, arguments| {
            let object = arguments.object::<Object<T>>(1, T::NAME)?;
            called(lua, &object.0, arguments)
        })?;
        self.table.raw_set(name, method)
    }

    /// The metatable with the methods as `__index`; metamethods among them (`__…`) stand in it itself.
    pub fn metatable(self) -> mlua::Result<Table> {
        let metatable = self.lua.create_table()?;
        for pair in self.table.clone().pairs::<String, mlua::Value>() {
            let (name, method) = pair?;
            if name.starts_with("__") {
                metatable.raw_set(name.as_str(), method)?;
            }
        }
        metatable.raw_set("__index", self.table)?;
        Ok(metatable)
    }
}
