//! What objects do on Lua's stack.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use crate::protocol::{Dotted, Frame, Value};
use mlua::ffi::{self, lua_State};

/// Names of metatables in the registry, and of the types in messages.
pub(super) const DATA: &CStr = c"data";
pub(super) const HEADER: &CStr = c"header";

pub(super) const GONE: &CStr = c"packet used after its handler has returned";

/// Sets `name` of the metatable on top of the stack to a function.
pub(super) unsafe fn set_function(state: *mut lua_State, name: &CStr, function: ffi::lua_CFunction) {
    // SAFETY: called by the `register` functions, under their promise.
    unsafe {
        ffi::lua_pushcfunction(state, function);
        ffi::lua_setfield(state, -2, name.as_ptr());
    }
}

/// Keeps scripts from reaching the metatable on top of the stack.
pub(super) unsafe fn protect(state: *mut lua_State) {
    // SAFETY: as in `set_function`.
    unsafe {
        ffi::lua_pushboolean(state, 0);
        ffi::lua_setfield(state, -2, c"__metatable".as_ptr());
    }
}

/// Raises the error that the field whose name is at index 2 cannot be assigned.
pub(super) unsafe fn no_assignment(state: *mut lua_State, owner: &CStr) -> c_int {
    // SAFETY: as in `no_field`.
    unsafe {
        let key = ffi::luaL_tolstring(state, 2, std::ptr::null_mut());
        let message = c"'%s' has no field '%s' that can be assigned";
        ffi::luaL_error(state, message.as_ptr(), owner.as_ptr(), key)
    }
}

/// Raises `'OWNER' has no field 'KEY'`, where the key is the value at index 2.
pub(super) unsafe fn no_field(state: *mut lua_State, owner: &CStr) -> c_int {
    // SAFETY: see `super`; both strings end in NUL and live on the stack or in the program.
    unsafe {
        let key = ffi::luaL_tolstring(state, 2, std::ptr::null_mut());
        ffi::luaL_error(state, c"'%s' has no field '%s'".as_ptr(), owner.as_ptr(), key)
    }
}

/// The bytes of the key at index 2; `None` unless it is a string.
pub(super) unsafe fn key<'a>(state: *mut lua_State) -> Option<&'a [u8]> {
    // SAFETY: see `super`; a string at a stack index is not collected while the function runs.
    unsafe {
        if ffi::lua_type(state, 2) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        let start = ffi::lua_tolstring(state, 2, &mut length);
        Some(std::slice::from_raw_parts(start.cast(), length))
    }
}

/// Pushes what a protocol field holds; nil for `None`.
pub(super) unsafe fn push_value(state: *mut lua_State, value: Option<Value>, frame: Frame<'_>) {
    // SAFETY: see `super`; `Value` has no destructor, and Lua copies the bytes.
    unsafe {
        match value {
            None => ffi::lua_pushnil(state),
            Some(Value::Integer(integer)) => ffi::lua_pushinteger(state, integer),
            Some(Value::Boolean(boolean)) => ffi::lua_pushboolean(state, boolean.into()),
            Some(Value::Text(text)) => push_bytes(state, text.as_bytes()),
            Some(Value::Bytes { start, end }) => push_bytes(state, frame.get(start..end).unwrap_or_default()),
            Some(Value::Name { start, end }) => {
                push_bytes(state, Dotted::new(frame.get(start..end).unwrap_or_default()).as_bytes());
            }
        }
    }
}

pub(super) unsafe fn push_bytes(state: *mut lua_State, bytes: &[u8]) {
    // SAFETY: see `super`.
    unsafe {
        ffi::lua_pushlstring(state, bytes.as_ptr().cast(), bytes.len());
    }
}
