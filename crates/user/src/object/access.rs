//! Methods of packets that read and write the bytes at an offset.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use moonhook_library::own::Width;
use moonhook_library::own::data::Access;

use super::data::{bytes, bytes_mut, check, check_bounds, check_text_bounds, check_writable};
use super::lua::push_bytes;

/// The method that does what its row says.
pub(super) fn method(access: Access) -> ffi::lua_CFunction {
    use Width::{B1, B2, B4, B8};
    match access {
        Access::Read { width: B1, signed: false } => get::<1, false>,
        Access::Read { width: B1, signed: true } => get::<1, true>,
        Access::Read { width: B2, signed: false } => get::<2, false>,
        Access::Read { width: B2, signed: true } => get::<2, true>,
        Access::Read { width: B4, signed: false } => get::<4, false>,
        Access::Read { width: B4, signed: true } => get::<4, true>,
        Access::Read { width: B8, .. } => get::<8, true>,
        Access::Write { width: B1 } => set::<1>,
        Access::Write { width: B2 } => set::<2>,
        Access::Write { width: B4 } => set::<4>,
        Access::Write { width: B8 } => set::<8>,
        Access::ReadText => get_string,
        Access::WriteText => set_string,
    }
}

unsafe extern "C-unwind" fn get<const SIZE: usize, const SIGNED: bool>(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = check(state, false);
        let offset = ffi::luaL_checkinteger(state, 2);
        let at = check_bounds(state, data, offset, SIZE as i64);
        ffi::lua_pushinteger(state, integer(&bytes(data)[at..at + SIZE], SIGNED));
        1
    }
}

/// 1, 2, 4 or 8 bytes in the machine's byte order as an integer.
fn integer(bytes: &[u8], signed: bool) -> i64 {
    let mut wide = [0; 8];
    let place = if cfg!(target_endian = "little") { 0 } else { 8 - bytes.len() };
    wide[place..place + bytes.len()].copy_from_slice(bytes);
    let value = i64::from_ne_bytes(wide);
    let unused = 64 - 8 * bytes.len() as u32;
    if signed { value << unused >> unused } else { value }
}

/// Checks in Lunatik's order: the object, the offset and its bounds, whether it can be written, the value.
unsafe extern "C-unwind" fn set<const SIZE: usize>(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = check(state, false);
        let offset = ffi::luaL_checkinteger(state, 2);
        let at = check_bounds(state, data, offset, SIZE as i64);
        check_writable(state, data);
        let value = ffi::luaL_checkinteger(state, 3).to_ne_bytes();
        let low = if cfg!(target_endian = "little") { &value[..SIZE] } else { &value[8 - SIZE..] };
        bytes_mut(data)[at..at + SIZE].copy_from_slice(low);
        0
    }
}

unsafe extern "C-unwind" fn get_string(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = check(state, false);
        let offset = ffi::luaL_checkinteger(state, 2);
        let rest = (bytes(data).len() as i64).saturating_sub(offset);
        let length = ffi::luaL_optinteger(state, 3, rest);
        let at = check_text_bounds(state, data, offset, length);
        push_bytes(state, &bytes(data)[at..at + length as usize]);
        1
    }
}

unsafe extern "C-unwind" fn set_string(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = check(state, false);
        let offset = ffi::luaL_checkinteger(state, 2);
        let mut length = 0;
        let string = ffi::luaL_checklstring(state, 3, &mut length);
        let at = check_text_bounds(state, data, offset, length as i64);
        check_writable(state, data);
        let string = std::slice::from_raw_parts(string.cast(), length);
        bytes_mut(data)[at..at + length].copy_from_slice(string);
        0
    }
}
