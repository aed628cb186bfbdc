//! `header` objects: `pkt.ip` and its like. A header holds which protocol it is and, as its user value, the packet.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use super::{HEADER, data, key, no_field, protect, push_value, set_function};
use crate::protocol::PROTOCOLS;

/// The userdata: an index into [`PROTOCOLS`].
#[repr(C)]
struct Header {
    protocol: usize,
}

pub(super) unsafe fn register(state: *mut lua_State) {
    // SAFETY: the promise of `super::register`.
    unsafe {
        ffi::luaL_newmetatable(state, HEADER.as_ptr());
        protect(state);
        set_function(state, c"__index", index);
        set_function(state, c"__eq", equal);
        ffi::lua_pop(state, 1);
    }
}

/// Pushes a header of the packet at index 1.
pub(super) unsafe fn push(state: *mut lua_State, protocol: usize) {
    // SAFETY: see `super`; the userdata has room for a `Header`.
    unsafe {
        let header: *mut Header = ffi::lua_newuserdatauv(state, size_of::<Header>(), 1).cast();
        header.write(Header { protocol });
        ffi::lua_pushvalue(state, 1);
        ffi::lua_setiuservalue(state, -2, 1);
        ffi::luaL_setmetatable(state, HEADER.as_ptr());
    }
}

unsafe extern "C-unwind" fn index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; user value 1 of a header is its packet, which therefore lives as long as the header.
    unsafe {
        let header: *mut Header = ffi::luaL_checkudata(state, 1, HEADER.as_ptr()).cast();
        let protocol = &PROTOCOLS[(*header).protocol];
        ffi::lua_getiuservalue(state, 1, 1);
        let frame = data::frame(state, -1);
        match key(state).and_then(|name| protocol.field(name)) {
            Some(field) => push_value(state, (field.read)(frame), frame),
            None => return no_header_field(state, protocol.name),
        }
        1
    }
}

/// A packet has one header of each protocol, whenever it is asked for.
unsafe extern "C-unwind" fn equal(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; one of the two is a header, the other one may be another userdata.
    unsafe {
        let header = |at| ffi::luaL_testudata(state, at, HEADER.as_ptr()).cast::<Header>().cast_const();
        let (first, second) = (header(1), header(2));
        let is_one = !first.is_null() && !second.is_null() && (*first).protocol == (*second).protocol && {
            ffi::lua_getiuservalue(state, 1, 1);
            ffi::lua_getiuservalue(state, 2, 1);
            ffi::lua_rawequal(state, -1, -2) != 0
        };
        ffi::lua_pushboolean(state, is_one.into());
        1
    }
}

/// Protocol names do not end in NUL, so Lua makes a string of this one first.
unsafe fn no_header_field(state: *mut lua_State, protocol: &'static str) -> c_int {
    // SAFETY: see `super`; the pushed string stays on the stack while it is used.
    unsafe {
        let name = ffi::lua_pushlstring(state, protocol.as_ptr().cast(), protocol.len());
        no_field(state, std::ffi::CStr::from_ptr(name))
    }
}
