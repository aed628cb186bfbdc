//! Moonhook's own modules: what `require` finds besides files.
//!
//! Each module is a file here and a row in [`MODULES`]. A module makes its table through a [`Context`], which gives every
//! function its canonical name and lets it raise errors at the script's line as C functions of Lua do.

mod byteorder;
mod linux_xdp;
mod xdp;

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_snapshot::Hook;

use crate::sandbox::{Names, without_lines};

/// A module of Moonhook's own library.
pub(crate) struct Module {
    /// What a script gives to `require`.
    pub name: &'static str,
    pub open: fn(&mut Context) -> mlua::Result<Table>,
}

pub(crate) const MODULES: &[Module] = &[byteorder::MODULE, linux_xdp::MODULE, xdp::MODULE];

/// A handler as `attach` got it.
pub(crate) struct Registration {
    pub hook: Hook,
    pub function: Function,
}

/// The handlers of all scripts in the order of registration.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub all: Rc<RefCell<Vec<Registration>>>,
    /// How many of them belong to scripts that have been loaded before the present one.
    pub earlier: usize,
}

/// Turns a Rust function, which returns `true` and its results or `false` and a message, into one that raises. Level 2 of
/// a function called in tail position is the caller of the function that made the tail call: the script.
const WRAP: &str = "
    local error = error
    local function finish(ok, ...)
      if ok then return ... end
      error((...), 2)
    end
    return function(f)
      return function(...) return finish(f(...)) end
    end";

/// What a module needs to make its table.
pub(crate) struct Context<'a> {
    pub lua: &'a Lua,
    pub handlers: &'a Handlers,
    names: &'a mut Names,
    wrap: Function,
}

impl<'a> Context<'a> {
    pub fn new(lua: &'a Lua, handlers: &'a Handlers, names: &'a mut Names) -> mlua::Result<Self> {
        let wrap = without_lines(lua, WRAP)?.call(())?;
        Ok(Context { lua, handlers, names, wrap })
    }

    /// A function with this canonical name. An `Err` is raised at the line of the script that called it.
    pub fn function<F>(&mut self, name: &'static str, body: F) -> mlua::Result<Function>
    where
        F: Fn(&Lua, &[Value]) -> Result<Value, String> + 'static,
    {
        let raw = self.lua.create_function(move |lua, arguments: MultiValue| {
            match body(lua, &arguments.into_iter().collect::<Vec<_>>()) {
                Ok(Value::Nil) => Ok(MultiValue::from_iter([Value::Boolean(true)])),
                Ok(value) => Ok(MultiValue::from_iter([Value::Boolean(true), value])),
                Err(message) => {
                    let message = Value::String(lua.create_string(message)?);
                    Ok(MultiValue::from_iter([Value::Boolean(false), message]))
                }
            }
        })?;
        let function: Function = self.wrap.call(raw)?;
        self.names.add_function(name, function.clone());
        Ok(function)
    }
}

/// The message of Lua for an argument of the wrong type (`lauxlib.c`, `luaL_typeerror`). `number` counts from 1.
pub(crate) fn type_error(arguments: &[Value], number: usize, function: &str, expected: &str) -> String {
    let got = arguments.get(number - 1).map_or("no value", type_name);
    format!("bad argument #{number} to '{function}' ({expected} expected, got {got})")
}

/// The Lua type name of a value; mlua's own names tell integers from floats.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) | Value::Number(_) => "number",
        Value::Error(_) | Value::LightUserData(_) => "userdata",
        _ => value.type_name(),
    }
}
