//! What a handler returns, and the function of a flow: a verdict of the hook, or an error.

use std::ffi::CStr;

use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;

/// A value that is none.
pub(crate) enum Other {
    /// Of a type that has none, by its name.
    Type(&'static CStr),
    Integer(i64),
}

impl Other {
    pub(crate) fn message(&self) -> String {
        match self {
            Other::Type(name) => {
                format!("handler returned a {} value, expected a verdict", name.to_string_lossy())
            }
            Other::Integer(number) => format!("handler returned {number}, expected a verdict"),
        }
    }
}

/// The verdict that the value on top of the stack is.
///
/// # Safety
/// There is one.
pub(crate) unsafe fn at_top(state: *mut lua_State, hook: &Hook) -> Result<i32, Other> {
    // SAFETY: reads the stack only; names of types are static.
    unsafe {
        if ffi::lua_isnil(state, -1) != 0 {
            return Ok(hook.default);
        }
        if hook.takes_booleans() && ffi::lua_type(state, -1) == ffi::LUA_TBOOLEAN {
            return Ok(ffi::lua_toboolean(state, -1));
        }
        if ffi::lua_isinteger(state, -1) == 0 {
            return Err(Other::Type(CStr::from_ptr(ffi::lua_typename(state, ffi::lua_type(state, -1)))));
        }
        let returned = ffi::lua_tointeger(state, -1);
        let verdict = i32::try_from(returned).ok().filter(|verdict| hook.verdict(*verdict).is_some());
        verdict.ok_or(Other::Integer(returned))
    }
}
