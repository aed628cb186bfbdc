//! Methods of packets that are about more than an integer or a string at an offset.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use moonhook_library::own::data::{
    CHECKSUM, DECAP, ENCAP, FIX_CHECKSUMS, GROW, POP_VLAN, PUSH_VLAN, ROUTE, SHRINK,
};

use super::data::{DataKind, bytes, bytes_mut, check, check_text_bounds};
use super::lua::push_bytes;
use crate::protocol::{Frame, Protocol, View, checksums};

/// All of them, by canonical name.
pub(super) const METHODS: [(&str, ffi::lua_CFunction); 9] = [
    (ROUTE, route),
    (CHECKSUM, checksum),
    (FIX_CHECKSUMS, fix_checksums),
    (GROW, super::lengths::grow),
    (SHRINK, super::lengths::shrink),
    (PUSH_VLAN, super::tags::push_vlan),
    (POP_VLAN, super::tags::pop_vlan),
    (ENCAP, super::tunnels::encap),
    (DECAP, super::tunnels::decap),
];

/// Every IP packet can be sent on, by the loopback interface.
unsafe extern "C-unwind" fn route(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let data = check(state, false);
        let DataKind::Packet(hook) = (*data).kind else {
            return ffi::luaL_argerror(state, 1, c"packet expected".as_ptr());
        };
        if hook.forward(ROUTE).is_none() {
            return ffi::luaL_error(state, c"packets cannot be routed at this hook".as_ptr());
        }
        if !has_ip(Frame::at(hook, bytes(data))) {
            ffi::lua_settop(state, 1);
            ffi::lua_settop(state, 4);
            push_bytes(state, b"no IP header");
            return 4;
        }
        ffi::lua_pushinteger(state, 1);
        push_bytes(state, b"00:00:00:00:00:00");
        push_bytes(state, b"00:00:00:00:00:00");
        3
    }
}

fn has_ip(frame: Frame<'_>) -> bool {
    let protocol = Protocol::named(b"ip").map(|(_, protocol)| &protocol.view);
    matches!(protocol, Some(View::Header { present, .. }) if present(frame))
}

/// In the machine's byte order.
unsafe extern "C-unwind" fn checksum(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; the slice ends before Lua is called again.
    unsafe {
        let data = check(state, false);
        let offset = ffi::luaL_optinteger(state, 2, 0);
        let rest = (bytes(data).len() as i64).saturating_sub(offset);
        let length = ffi::luaL_optinteger(state, 3, rest);
        let at = check_text_bounds(state, data, offset, length);
        let sum = checksums::checksum(&[&bytes(data)[at..at + length as usize]]);
        ffi::lua_pushinteger(state, u16::from_ne_bytes(sum.to_be_bytes()).into());
        1
    }
}

unsafe extern "C-unwind" fn fix_checksums(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; nothing calls Lua while the slice is in use.
    unsafe {
        let data = check(state, true);
        if let DataKind::Packet(hook) = (*data).kind {
            checksums::fix(hook, bytes_mut(data));
        }
        0
    }
}
