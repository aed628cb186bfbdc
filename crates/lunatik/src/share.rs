//! What goes from one state to another: objects, and in tables of `rcu` a few other values.

use std::sync::Arc;

use mlua::{AnyUserData, IntoLua, Lua, Value};

use crate::class::{Class, Object};

/// What an error says where an object belongs to one state alone.
pub(crate) const SINGLE: &str = "cannot share SINGLE object";

/// An object that states may share, whatever its class.
#[derive(Clone)]
pub(crate) struct Shared(Arc<dyn Handle>);

/// A handle on an object.
trait Handle: Send + Sync {
    fn name(&self) -> &'static str;
    fn is_single(&self) -> bool;
    fn value(&self, lua: &Lua) -> mlua::Result<Value>;
}

impl<T: Class> Handle for Object<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn is_single(&self) -> bool {
        T::is_single(self)
    }

    fn value(&self, lua: &Lua) -> mlua::Result<Value> {
        self.clone().into_lua(lua)
    }
}

/// By class, what says whether a value is an object of it: a state's own data.
pub(crate) struct Sharers(pub Vec<fn(&AnyUserData) -> Option<Shared>>);

/// The object of a class that a value is.
pub(crate) fn shared<T: Class>(value: &AnyUserData) -> Option<Shared> {
    let object = value.borrow::<Object<T>>().ok()?;
    Some(Shared(Arc::new(object.clone())))
}

impl Shared {
    /// `None` for other values than objects.
    pub fn of(lua: &Lua, value: &Value) -> Option<Shared> {
        let object = value.as_userdata()?;
        lua.app_data_ref::<Sharers>()?.0.iter().find_map(|of_class| of_class(object))
    }

    /// Whether it belongs to the state that has made it.
    pub fn is_single(&self) -> bool {
        self.0.is_single()
    }

    /// What errors call its class.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }
}

impl IntoLua for Shared {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        self.0.value(lua)
    }
}
