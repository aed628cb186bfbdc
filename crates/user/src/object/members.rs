//! What packets and `arg` have: methods, headers, and what the kernel keeps beside a packet.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use moonhook_library as library;
use moonhook_library::own::data::ACCESSES;

use super::data::{Data, DataKind, frame};
use super::lua::{DATA, key, no_assignment, no_field, protect, push_bytes, push_value, set_function};
use crate::metadata::{self, Note};
use crate::protocol::{Frame, Protocol, Value, View};

pub(super) unsafe fn register(state: *mut lua_State) {
    // SAFETY: the promise of `super::register`.
    unsafe {
        ffi::luaL_newmetatable(state, DATA.as_ptr());
        protect(state);
        set_function(state, c"__len", length);
        set_function(state, c"__tostring", to_string);
        ffi::lua_createtable(state, 0, ACCESSES.len() as c_int);
        for (name, access) in ACCESSES {
            add_method(state, name, super::access::method(access));
        }
        for (name, function) in super::methods::METHODS {
            add_method(state, name, function);
        }
        ffi::lua_pushcclosure(state, index, 1);
        ffi::lua_setfield(state, -2, c"__index".as_ptr());
        set_function(state, c"__newindex", set_index);
        ffi::lua_pop(state, 1);
    }
}

/// Adds a function to the table of methods on top of the stack.
unsafe fn add_method(state: *mut lua_State, name: &str, function: ffi::lua_CFunction) {
    // SAFETY: called by `register`, under its promise.
    unsafe {
        push_bytes(state, library::key(name).as_bytes());
        ffi::lua_pushcfunction(state, function);
        ffi::lua_rawset(state, -3);
    }
}

/// Neither methods nor headers can be assigned, only what the kernel keeps beside a packet.
unsafe extern "C-unwind" fn set_index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; the slice of a string at a stack index ends before anything else is called.
    unsafe {
        let data: *mut Data = ffi::luaL_checkudata(state, 1, DATA.as_ptr()).cast();
        frame(state, 1);
        let place = match (*data).kind {
            DataKind::Packet(hook) => key(state).and_then(|name| (*data).metadata.place(hook, name)),
            DataKind::Argument => None,
        };
        if let DataKind::Packet(hook) = (*data).kind
            && hook.lengths.is_some()
            && key(state) == Some(b"payload")
        {
            return super::payload::assign(state, data, hook);
        }
        if let DataKind::Packet(hook) = (*data).kind
            && hook.context.note.is_some_and(|note| note.adjust.is_some())
            && key(state) == Some(META)
        {
            return super::note::assign(state, data);
        }
        let Some(place) = place else { return no_assignment(state, owner(data)) };
        let is_integer = ffi::lua_type(state, 3) == ffi::LUA_TNUMBER && ffi::lua_isinteger(state, 3) != 0;
        let (number, bits) = (ffi::lua_tointeger(state, 3), metadata::bits(place));
        if is_integer && (0..=i64::MAX >> (63 - bits)).contains(&number) {
            (*data).metadata.set(place, number);
            return 0;
        }
        let name = ffi::lua_tolstring(state, 2, std::ptr::null_mut());
        let message = c"bad value for field '%s' (integer of %d bits expected)";
        ffi::luaL_error(state, message.as_ptr(), name, bits as c_int)
    }
}

unsafe extern "C-unwind" fn index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; upvalue 1 is the table of methods.
    unsafe {
        let data: *mut Data = ffi::luaL_checkudata(state, 1, DATA.as_ptr()).cast();
        let Some(name) = key(state) else { return no_member(state, data) };
        ffi::lua_pushvalue(state, 2);
        if ffi::lua_rawget(state, ffi::lua_upvalueindex(1)) != ffi::LUA_TNIL {
            return 1;
        }
        let frame = frame(state, 1);
        match ((*data).kind, Protocol::named(name)) {
            (DataKind::Packet(_), Some((number, protocol))) => push_member(state, frame, number, protocol),
            (DataKind::Packet(hook), None) if metadata::is_known(name) => {
                let value = (*data).metadata.get(hook, name).map(Value::Integer);
                push_value(state, value, frame);
                1
            }
            (DataKind::Packet(_), None) if name == META => {
                match (*data).metadata.note {
                    Some(Note::Record) => super::note::push(state),
                    Some(Note::Integer(number)) => push_value(state, Some(Value::Integer(number)), frame),
                    None => ffi::lua_pushnil(state),
                }
                1
            }
            _ => no_member(state, data),
        }
    }
}

/// What stands in front of the packet, by its name.
const META: &[u8] = b"meta";

unsafe fn no_member(state: *mut lua_State, data: *mut Data) -> c_int {
    // SAFETY: see `super`; `data` is the object at index 1.
    unsafe { no_field(state, owner(data)) }
}

/// What errors call the owner of a field.
unsafe fn owner(data: *mut Data) -> &'static CStr {
    // SAFETY: see `super`.
    match unsafe { (*data).kind } {
        DataKind::Packet(_) => c"packet",
        DataKind::Argument => c"data",
    }
}

unsafe fn push_member(state: *mut lua_State, frame: Frame<'_>, number: usize, protocol: &Protocol) -> c_int {
    // SAFETY: see `super`; the packet is at index 1.
    unsafe {
        match protocol.view {
            View::Header { present, .. } if present(frame) => super::header::push(state, number),
            View::Header { .. } => ffi::lua_pushnil(state),
            View::Plain(read) => push_value(state, read(frame), frame),
        }
        1
    }
}

unsafe extern "C-unwind" fn length(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        ffi::lua_pushinteger(state, frame(state, 1).len() as i64);
        1
    }
}

unsafe extern "C-unwind" fn to_string(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        push_bytes(state, frame(state, 1).bytes);
        1
    }
}
