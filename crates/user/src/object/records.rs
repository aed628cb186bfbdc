//! `pkt.dns:answers()` and the like: functions that give one record after the other.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::CStr;

use mlua::ffi::{self, lua_State};
use moonhook_library as library;
use moonhook_library::own::dns::{ADDITIONALS, ANSWERS, AUTHORITIES};

use super::lua::{push_bytes, push_value};
use crate::protocol::{Dotted, Frame, dns_records};

/// The methods, in the order of the sections that they are about.
const METHODS: [&str; 3] = [ANSWERS, AUTHORITIES, ADDITIONALS];

/// The number of the section that the method of that name is about.
pub(super) fn section_of(method: &[u8]) -> Option<usize> {
    let number = METHODS.iter().position(|name| library::key(name).as_bytes() == method)?;
    Some(number + 1)
}

/// Pushes the iterator over a section of the message whose header is at index 1. Upvalues are the header, where the next record is, counted from the
/// message's start, and how many follow.
pub(super) unsafe fn push_iterator(
    state: *mut lua_State,
    frame: Frame<'_>,
    section: usize,
    next: ffi::lua_CFunction,
) {
    // SAFETY: see `super`.
    unsafe {
        let (at, count) = dns_records::section(frame, section).unwrap_or((0, 0));
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushinteger(state, at as i64);
        ffi::lua_pushinteger(state, count.into());
        ffi::lua_pushcclosure(state, next, 3);
    }
}

/// Pushes the next record of an iterator whose message is in `frame`, or nil.
pub(super) unsafe fn push_next(state: *mut lua_State, frame: Frame<'_>) {
    // SAFETY: see `super`; a record has no destructor.
    unsafe {
        let [at, left] = [2, 3].map(|number| ffi::lua_tointeger(state, ffi::lua_upvalueindex(number)));
        let found = usize::try_from(at).ok().filter(|_| left > 0);
        let Some((record, next)) = found.and_then(|at| dns_records::record(frame, at)) else {
            ffi::lua_pushnil(state);
            return;
        };
        for (number, value) in [(2, next as i64), (3, left - 1)] {
            ffi::lua_pushinteger(state, value);
            ffi::lua_replace(state, ffi::lua_upvalueindex(number));
        }
        ffi::lua_createtable(state, 0, 8);
        let numbers = [
            (c"type", Some(i64::from(record.kind))),
            (c"class", Some(record.class.into())),
            (c"ttl", Some(record.ttl.into())),
            (c"preference", record.preference(frame).map(i64::from)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                ffi::lua_pushinteger(state, number);
                ffi::lua_setfield(state, -2, name.as_ptr());
            }
        }
        for (name, value) in [(c"data", record.data(frame)), (c"address", record.address(frame))] {
            push_value(state, value, frame);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
        set_name(state, c"name", record.name(frame));
        set_name(state, c"target", record.target(frame));
    }
}

/// Sets a field of the table on top of the stack.
unsafe fn set_name(state: *mut lua_State, field: &CStr, name: Option<Dotted>) {
    // SAFETY: see `super`; `Dotted` has no destructor, and Lua copies the bytes.
    unsafe {
        if let Some(name) = name {
            push_bytes(state, name.as_bytes());
            ffi::lua_setfield(state, -2, field.as_ptr());
        }
    }
}
