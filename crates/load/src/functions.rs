//! Functions written in Rust that raise errors as C functions of Lua do: a message with the script's line in front.

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, MultiValue, Value};

/// A chunk of our own, stripped: should an error be blamed on it (a script that calls it in tail position has left the
/// stack), the message has no position at all rather than one inside it.
pub(crate) fn without_lines(lua: &Lua, text: &str) -> mlua::Result<Function> {
    let stripped = lua.load(text).into_function()?.dump(true);
    lua.load(stripped).set_name("=moonhook").set_mode(ChunkMode::Binary).into_function()
}

/// Turns a function that returns `true` and its results or `false` and a message into one that raises. Level 2 of a function
/// called in tail position is the caller of the function that made the tail call: the script.
const WRAP: &str = "
    local error = error
    local function finish(ok, ...)
      if ok then return ... end
      error((...), 2)
    end
    return function(f)
      return function(...) return finish(f(...)) end
    end";

/// Makes such functions; also for metamethods, where the script is the code that has the operation.
#[derive(Clone)]
pub struct Raising {
    wrap: Function,
}

impl Raising {
    pub fn new(lua: &Lua) -> mlua::Result<Raising> {
        Ok(Raising { wrap: without_lines(lua, WRAP)?.call(())? })
    }

    /// A function with this body. An `Err` is raised at the line of the script that called it.
    pub fn function<F>(&self, lua: &Lua, body: F) -> mlua::Result<Function>
    where
        F: Fn(&Lua, MultiValue) -> Result<MultiValue, String> + 'static,
    {
        let raw = lua.create_function(move |lua, arguments: MultiValue| {
            let mut results = match body(lua, arguments) {
                Ok(results) => results,
                Err(message) => {
                    let message = Value::String(lua.create_string(message)?);
                    return Ok(MultiValue::from_iter([Value::Boolean(false), message]));
                }
            };
            results.push_front(Value::Boolean(true));
            Ok(results)
        })?;
        self.wrap.call(raw)
    }
}
