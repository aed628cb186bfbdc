//! `pkt:grow(…)` and `pkt:shrink(…)`.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use moonhook_hook::{Hook, Lengths};

use super::data::{Data, DataKind, bytes, check, splice};
use crate::metadata::Metadata;

/// The most bytes that a packet can have.
pub(super) const MOST: usize = 0xffff;

/// The fewest: those of an Ethernet header.
const LEAST: usize = 14;

/// The most that the kernel gives to or takes from the front of a packet of the network stack.
pub(super) const MOST_ROOM: usize = 4095;

pub(super) const LONGER: &CStr = c"packet cannot be made longer";
pub(super) const SHORTER: &CStr = c"packet cannot be made shorter";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Head,
    Tail,
}

/// The packet at index 1 as a method checks it that changes its length, and its hook.
pub(super) unsafe fn check_changeable(state: *mut lua_State) -> (*mut Data, &'static Hook) {
    // SAFETY: see `super`; errors do not come back.
    unsafe {
        let data = check(state, false);
        loop {
            match (*data).kind {
                DataKind::Packet(hook) if hook.lengths.is_some() => return (data, hook),
                DataKind::Packet(hook) => {
                    let name = ffi::lua_pushlstring(state, hook.name.as_ptr().cast(), hook.name.len());
                    ffi::luaL_error(state, c"packets cannot change their length at %s".as_ptr(), name);
                }
                DataKind::Argument => {
                    ffi::luaL_argerror(state, 1, c"read only".as_ptr());
                }
            }
        }
    }
}

/// Which end argument 3 names.
unsafe fn end(state: *mut lua_State) -> End {
    // SAFETY: see `super`; the slice of a string at a stack index ends before anything else is called.
    unsafe {
        let mut length = 0;
        let name = ffi::luaL_optlstring(state, 3, c"tail".as_ptr(), &mut length);
        match std::slice::from_raw_parts(name.cast::<u8>(), length) {
            b"head" => End::Head,
            b"tail" => End::Tail,
            _ => {
                ffi::luaL_argerror(state, 3, c"\"head\" or \"tail\" expected".as_ptr());
                End::Tail
            }
        }
    }
}

pub(super) unsafe extern "C-unwind" fn grow(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        let count = ffi::luaL_checkinteger(state, 2);
        let end = end(state);
        let length = bytes(data).len();
        let Some(count) = usize::try_from(count).ok().filter(|count| *count <= MOST) else {
            return ffi::luaL_argerror(state, 2, c"out of bounds".as_ptr());
        };
        if count > 0 && (length + count > MOST || !has_room(hook, data, end, count)) {
            return ffi::luaL_error(state, LONGER.as_ptr());
        }
        splice(state, 1, (if end == End::Head { 0 } else { length }, 0, count));
        0
    }
}

pub(super) unsafe extern "C-unwind" fn shrink(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        let count = ffi::luaL_checkinteger(state, 2);
        let end = end(state);
        let length = bytes(data).len();
        let possible = |count: &usize| *count <= MOST && count + LEAST <= length;
        let Some(count) = usize::try_from(count).ok().filter(possible) else {
            return ffi::luaL_argerror(state, 2, c"out of bounds".as_ptr());
        };
        let left = length - LEAST - count;
        if count > 0 && (!has_room(hook, data, end, count) || left < least_left(hook, data, end)) {
            return ffi::luaL_error(state, SHORTER.as_ptr());
        }
        splice(state, 1, (if end == End::Head { 0 } else { length - count }, count, 0));
        0
    }
}

/// The fewest bytes that must be left behind an Ethernet header.
unsafe fn least_left(hook: &Hook, data: *mut Data, end: End) -> usize {
    // SAFETY: see `super`.
    match unsafe { (*data).metadata.ethertype } {
        _ if end == End::Tail || !is_of_stack(hook) => 0,
        0x86dd => 40,
        _ => 20,
    }
}

/// Whether the kernel could give or take so many bytes there.
unsafe fn has_room(hook: &Hook, data: *mut Data, end: End, count: usize) -> bool {
    // SAFETY: see `super`.
    let Metadata { ethertype, is_inside, .. } = unsafe { (*data).metadata };
    match end {
        _ if !is_of_stack(hook) => true,
        End::Tail => !is_inside,
        End::Head => count <= MOST_ROOM && matches!(ethertype, 0x0800 | 0x86dd),
    }
}

/// Whether packets are those of the network stack.
pub(super) fn is_of_stack(hook: &Hook) -> bool {
    matches!(hook.lengths, Some(Lengths::Stack { .. }))
}
