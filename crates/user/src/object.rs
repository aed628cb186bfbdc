//! The objects that a handler gets: the packet, its headers, and `arg`.
//!
//! Adds to a Lua state the metatables `data` (packet and `arg`) and `header`, made of C functions, so that messages,
//! argument numbers and positions are those that Lua itself words. An object is a full userdata that holds its bytes;
//! nothing in it points out of the Lua state. A header refers to its packet and reads the frame at each access.
//! Guarantees that an object that outlives its handler call gives an error and never a stale or foreign byte.
//!
//! Safety of this file: C functions are left by `longjmp` when Lua raises an error, so none of them has a value with a
//! destructor alive across a call into Lua. All of them run with LUA_MINSTACK free stack slots.

mod access;
mod data;
mod header;
mod lengths;
mod methods;
mod payload;
mod tags;
mod tunnels;

use std::ffi::{CStr, c_int};

use crate::metadata::Metadata;
use crate::protocol::{Dotted, Frame, Value};
use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;

/// Names of metatables in the registry, and of the types in messages.
const DATA: &CStr = c"data";
const HEADER: &CStr = c"header";

const GONE: &CStr = c"packet used after its handler has returned";

/// Adds the metatables to the state. The stack is left as it was.
///
/// # Safety
/// Called under Lua's protection (errors of allocation are raised), with LUA_MINSTACK stack slots.
pub(crate) unsafe fn register(state: *mut lua_State) {
    // SAFETY: the caller's promise.
    unsafe {
        data::register(state);
        header::register(state);
    }
}

/// Pushes a packet that holds a copy of `bytes`.
///
/// # Safety
/// As for [`register`], which has run in this state.
pub(crate) unsafe fn push_packet(
    state: *mut lua_State,
    hook: &'static Hook,
    bytes: &[u8],
    metadata: Metadata,
) {
    // SAFETY: the caller's promise.
    unsafe { data::push(state, data::DataKind::Packet(hook), bytes, metadata) }
}

/// Pushes the second argument of a handler, whose packet is on top of the stack.
///
/// # Safety
/// As for [`push_packet`].
pub(crate) unsafe fn push_argument(state: *mut lua_State) {
    // SAFETY: the caller's promise.
    unsafe { data::push_argument(state) }
}

/// What is kept beside the packet at `index`.
///
/// # Safety
/// The value there was made by [`push_packet`] or [`push_argument`].
pub(crate) unsafe fn metadata(state: *mut lua_State, index: c_int) -> Metadata {
    // SAFETY: the caller's promise.
    unsafe { data::metadata(ffi::lua_touserdata(state, index).cast()) }
}

/// The bytes of the object at `index`.
///
/// # Safety
/// The value there was made by [`push_packet`] or [`push_argument`]; the slice is not kept beyond the next call into Lua.
pub(crate) unsafe fn bytes<'a>(state: *mut lua_State, index: c_int) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { data::bytes(ffi::lua_touserdata(state, index).cast()) }
}

/// Ends the object at `index`: from now on every use of it is an error.
///
/// # Safety
/// The value there was made by [`push_packet`] or [`push_argument`].
pub(crate) unsafe fn expire(state: *mut lua_State, index: c_int) {
    // SAFETY: the caller's promise.
    unsafe { data::expire(ffi::lua_touserdata(state, index).cast()) }
}

/// Sets `name` of the metatable on top of the stack to a function.
unsafe fn set_function(state: *mut lua_State, name: &CStr, function: ffi::lua_CFunction) {
    // SAFETY: called by the `register` functions, under their promise.
    unsafe {
        ffi::lua_pushcfunction(state, function);
        ffi::lua_setfield(state, -2, name.as_ptr());
    }
}

/// Keeps scripts from reaching the metatable on top of the stack.
unsafe fn protect(state: *mut lua_State) {
    // SAFETY: as in `set_function`.
    unsafe {
        ffi::lua_pushboolean(state, 0);
        ffi::lua_setfield(state, -2, c"__metatable".as_ptr());
    }
}

/// Raises the error that the field whose name is at index 2 cannot be assigned.
unsafe fn no_assignment(state: *mut lua_State, owner: &CStr) -> c_int {
    // SAFETY: as in `no_field`.
    unsafe {
        let key = ffi::luaL_tolstring(state, 2, std::ptr::null_mut());
        let message = c"'%s' has no field '%s' that can be assigned";
        ffi::luaL_error(state, message.as_ptr(), owner.as_ptr(), key)
    }
}

/// Raises `'OWNER' has no field 'KEY'`, where the key is the value at index 2.
unsafe fn no_field(state: *mut lua_State, owner: &CStr) -> c_int {
    // SAFETY: see the top of this file; both strings end in NUL and live on the stack or in the program.
    unsafe {
        let key = ffi::luaL_tolstring(state, 2, std::ptr::null_mut());
        ffi::luaL_error(state, c"'%s' has no field '%s'".as_ptr(), owner.as_ptr(), key)
    }
}

/// The bytes of the key at index 2; `None` unless it is a string.
unsafe fn key<'a>(state: *mut lua_State) -> Option<&'a [u8]> {
    // SAFETY: see the top of this file; a string at a stack index is not collected while the function runs.
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
unsafe fn push_value(state: *mut lua_State, value: Option<Value>, frame: Frame<'_>) {
    // SAFETY: see the top of this file; `Value` has no destructor, and Lua copies the bytes.
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

unsafe fn push_bytes(state: *mut lua_State, bytes: &[u8]) {
    // SAFETY: see the top of this file.
    unsafe {
        ffi::lua_pushlstring(state, bytes.as_ptr().cast(), bytes.len());
    }
}
