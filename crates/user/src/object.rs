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
mod lua;
mod members;
mod methods;
mod note;
mod payload;
mod records;
mod tags;
mod tunnels;

use std::ffi::c_int;

use crate::metadata::Metadata;
use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;

/// Adds the metatables to the state. The stack is left as it was.
///
/// # Safety
/// Called under Lua's protection (errors of allocation are raised), with LUA_MINSTACK stack slots.
pub(crate) unsafe fn register(state: *mut lua_State) {
    // SAFETY: the caller's promise.
    unsafe {
        members::register(state);
        header::register(state);
        note::register(state);
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

/// Pushes a packet whose bytes are in the userdata on top of the stack, in the place of that, which it keeps.
///
/// # Safety
/// As for [`register`], which has run in this state; so many bytes are there as long as the userdata is.
pub(crate) unsafe fn push_window(
    state: *mut lua_State,
    hook: &'static Hook,
    bytes: *mut [u8],
    metadata: Metadata,
) {
    // SAFETY: the caller's promise.
    unsafe { data::push_window(state, data::DataKind::Packet(hook), bytes, metadata) }
}

/// Shows other bytes of the same userdata in a packet that [`push_window`] made.
///
/// # Safety
/// As for [`push_window`], which has made the value at `index`.
pub(crate) unsafe fn aim(state: *mut lua_State, index: c_int, hook: &'static Hook, bytes: *mut [u8]) {
    // SAFETY: the caller's promise.
    unsafe { data::aim(ffi::lua_touserdata(state, index).cast(), data::DataKind::Packet(hook), bytes) }
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

/// The hook whose packet the value at `index` is, if it is one.
///
/// # Safety
/// As for [`register`], which has run in this state; there is a value.
pub(crate) unsafe fn hook(state: *mut lua_State, index: c_int) -> Option<&'static Hook> {
    // SAFETY: the caller's promise.
    unsafe { data::hook(state, index) }
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
