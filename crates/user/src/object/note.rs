//! Records in front of packets: `pkt.meta` as an object, whose user value is the packet. The Lua state has the record itself, a table that nobody
//! else sees.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use super::data::{Data, DataKind, frame};
use super::lua::{HEADER, key, no_assignment, no_field, protect, set_function};
use crate::metadata::Note;
use mlua::ffi::{self, lua_State};

/// Names of the metatable and of the record in the registry.
const NOTE: &CStr = c"moonhook.note";
const RECORD: &CStr = c"moonhook.record";

/// What errors call the owner of a field.
const OWNER: &CStr = c"meta";

pub(super) unsafe fn register(state: *mut lua_State) {
    // SAFETY: the promise of `super::register`.
    unsafe {
        ffi::luaL_newmetatable(state, NOTE.as_ptr());
        protect(state);
        // In messages it is one of the packet's headers.
        ffi::lua_pushstring(state, HEADER.as_ptr());
        ffi::lua_setfield(state, -2, c"__name".as_ptr());
        set_function(state, c"__index", index);
        set_function(state, c"__newindex", set_index);
        set_function(state, c"__eq", equal);
        ffi::lua_pop(state, 1);
    }
}

/// Pushes the record of the packet at index 1, which has one.
pub(super) unsafe fn push(state: *mut lua_State) {
    // SAFETY: see `super`.
    unsafe {
        ffi::lua_newuserdatauv(state, 0, 1);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_setiuservalue(state, -2, 1);
        ffi::luaL_setmetatable(state, NOTE.as_ptr());
    }
}

/// Assigns the value at index 3 to what stands in front of the packet.
pub(super) unsafe fn assign(state: *mut lua_State, data: *mut Data) -> c_int {
    // SAFETY: see `super`; `data` is the object at index 1.
    unsafe {
        if is_integer(state, 3) {
            (*data).metadata.note = Some(Note::Integer(ffi::lua_tointeger(state, 3)));
            return 0;
        }
        if ffi::lua_type(state, 3) != ffi::LUA_TTABLE {
            return unfit(state);
        }
        ffi::lua_createtable(state, 0, 0);
        let copy = ffi::lua_gettop(state);
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, 3) != 0 {
            if ffi::lua_type(state, -2) != ffi::LUA_TSTRING || !is_field(state, -1) {
                return unfit(state);
            }
            ffi::lua_pushvalue(state, -2);
            ffi::lua_insert(state, -2);
            ffi::lua_rawset(state, copy);
        }
        ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, RECORD.as_ptr());
        (*data).metadata.note = Some(Note::Record);
        0
    }
}

unsafe fn unfit(state: *mut lua_State) -> c_int {
    let message = c"bad value for field 'meta' (integer or table of integers and booleans expected)";
    // SAFETY: see `super`.
    unsafe { ffi::luaL_error(state, message.as_ptr()) }
}

unsafe fn is_integer(state: *mut lua_State, position: c_int) -> bool {
    // SAFETY: see `super`.
    unsafe { ffi::lua_type(state, position) == ffi::LUA_TNUMBER && ffi::lua_isinteger(state, position) != 0 }
}

/// Whether a field can have the value at that index.
unsafe fn is_field(state: *mut lua_State, position: c_int) -> bool {
    // SAFETY: see `super`.
    unsafe { is_integer(state, position) || ffi::lua_type(state, position) == ffi::LUA_TBOOLEAN }
}

/// The packet of the record at index 1, which is pushed; raises an error if its handler has returned.
unsafe fn packet(state: *mut lua_State) -> *mut Data {
    // SAFETY: see `super`; user value 1 of a record is its packet, which therefore lives as long.
    unsafe {
        ffi::luaL_checkudata(state, 1, NOTE.as_ptr());
        ffi::lua_getiuservalue(state, 1, 1);
        frame(state, -1);
        ffi::lua_touserdata(state, -1).cast()
    }
}

unsafe extern "C-unwind" fn index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = packet(state);
        if key(state).is_none() {
            return no_field(state, OWNER);
        }
        if (*data).metadata.note != Some(Note::Record) {
            ffi::lua_pushnil(state);
            return 1;
        }
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, RECORD.as_ptr());
        ffi::lua_pushvalue(state, 2);
        ffi::lua_rawget(state, -2);
        1
    }
}

unsafe extern "C-unwind" fn set_index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = packet(state);
        let DataKind::Packet(hook) = (*data).kind else { return no_assignment(state, OWNER) };
        let can_be = hook.context.note.is_some_and(|note| note.adjust.is_some());
        if !can_be || key(state).is_none() {
            return no_assignment(state, OWNER);
        }
        let name = ffi::lua_tolstring(state, 2, std::ptr::null_mut());
        if !is_field(state, 3) && ffi::lua_type(state, 3) != ffi::LUA_TNIL {
            let message = c"bad value for field '%s' (integer or boolean expected)";
            return ffi::luaL_error(state, message.as_ptr(), name);
        }
        if (*data).metadata.note != Some(Note::Record) {
            return ffi::luaL_error(state, c"field '%s' is not in this packet".as_ptr(), name);
        }
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, RECORD.as_ptr());
        ffi::lua_pushvalue(state, 2);
        ffi::lua_pushvalue(state, 3);
        ffi::lua_rawset(state, -3);
        0
    }
}

/// A packet has one record, whenever it is asked for.
unsafe extern "C-unwind" fn equal(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; one of the two is a record, the other one may be another userdata.
    unsafe {
        let is_record = |at| !ffi::luaL_testudata(state, at, NOTE.as_ptr()).is_null();
        let is_one = is_record(1) && is_record(2) && {
            ffi::lua_getiuservalue(state, 1, 1);
            ffi::lua_getiuservalue(state, 2, 1);
            ffi::lua_rawequal(state, -1, -2) != 0
        };
        ffi::lua_pushboolean(state, is_one.into());
        1
    }
}
