//! `pkt:encap(…)` and `pkt:decap()`.
//!
//! See [`super`] for the rules that make the unsafe code here sound: what is made of Rust's memory is gone before Lua raises an error.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;

use super::data::{Data, bytes, bytes_mut, packet_frame, splice};
use super::lengths::{LONGER, MOST, MOST_ROOM, SHORTER, check_changeable, is_of_stack};
use crate::protocol::assign::address;
use crate::protocol::ip::{self, Ip};
use crate::protocol::tunnel;

/// Bytes of an Ethernet header: at tc the kernel changes what is behind it.
const ETHERNET: usize = 14;

/// The bytes of an address, of which there are 4 or 16.
struct Address {
    bytes: [u8; 16],
    count: usize,
}

pub(super) unsafe extern "C-unwind" fn encap(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        let Some(source) = argument(state, 2) else {
            return ffi::luaL_argerror(state, 2, c"IP address expected".as_ptr());
        };
        let Some(target) = argument(state, 3) else {
            return ffi::luaL_argerror(state, 3, c"IP address expected".as_ptr());
        };
        let ttl = ffi::luaL_optinteger(state, 4, 64);
        if source.count != target.count {
            return ffi::luaL_argerror(state, 3, c"address of the same IP version expected".as_ptr());
        }
        let Ok(ttl) = u8::try_from(ttl) else {
            return ffi::luaL_argerror(state, 4, c"integer of 8 bits expected".as_ptr());
        };
        match put_inside(state, (data, hook), [&source, &target], ttl) {
            Ok(()) => 0,
            Err(problem) => ffi::luaL_error(state, problem.as_ptr()),
        }
    }
}

/// The address that an argument is the text of.
unsafe fn argument(state: *mut lua_State, number: c_int) -> Option<Address> {
    // SAFETY: see `super`; the slice of a string at a stack index ends before anything else is called.
    unsafe {
        if ffi::lua_type(state, number) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        let start = ffi::lua_tolstring(state, number, &mut length);
        let (count, number) = address(std::slice::from_raw_parts(start.cast(), length))?;
        Some(Address { bytes: (number << (128 - 8 * count)).to_be_bytes(), count })
    }
}

/// Whether the kernel changes the length behind the link's header of a packet with that IP header.
unsafe fn is_movable(data: *mut Data, hook: &Hook, ip: &Ip) -> bool {
    // SAFETY: see `super`.
    let ethertype = unsafe { (*data).metadata.ethertype };
    !is_of_stack(hook) || ip.start == ETHERNET && matches!(ethertype, 0x0800 | 0x86dd)
}

unsafe fn put_inside(
    state: *mut lua_State,
    (data, hook): (*mut Data, &'static Hook),
    [source, target]: [&Address; 2],
    ttl: u8,
) -> Result<(), &'static CStr> {
    // SAFETY: see `super`; the header is short, and no memory that is Rust's is needed when Lua is called.
    unsafe {
        let ip = ip::find(packet_frame(data)).ok_or(c"packet has no IP header")?;
        let is_known = is_of_stack(hook) && (*data).metadata.is_inside;
        let addresses = [source, target].map(|address| &address.bytes[..address.count]);
        let mut header = [0; 40];
        let count = {
            let outer = tunnel::outer(&ip, addresses, ttl).ok_or(LONGER)?;
            header[..outer.len()].copy_from_slice(&outer);
            outer.len()
        };
        if is_known || !is_movable(data, hook, &ip) || bytes(data).len() + count > MOST {
            return Err(LONGER);
        }
        splice(state, 1, (ip.start, 0, count));
        bytes_mut(data)[ip.start..ip.start + count].copy_from_slice(&header[..count]);
        say(data, ip.start, if source.count == 4 { 4 } else { 6 });
        (*data).metadata.is_inside = true;
        Ok(())
    }
}

/// Has the link's header, which ends at `end`, say that a packet of that version follows.
unsafe fn say(data: *mut Data, end: usize, version: u8) {
    // SAFETY: see `super`.
    unsafe {
        let (ethertype, _) = tunnel::numbers(version);
        bytes_mut(data)[end - 2..end].copy_from_slice(&ethertype.to_be_bytes());
        (*data).metadata.ethertype = ethertype;
    }
}

pub(super) unsafe extern "C-unwind" fn decap(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        let Some((ip, version)) = tunnel::inside(packet_frame(data)) else {
            return ffi::luaL_error(state, c"packet carries no IP packet".as_ptr());
        };
        let is_far = is_of_stack(hook) && ip.header_length > MOST_ROOM;
        if is_far || !is_movable(data, hook, &ip) {
            return ffi::luaL_error(state, SHORTER.as_ptr());
        }
        splice(state, 1, (ip.start, ip.header_length, 0));
        say(data, ip.start, version);
        0
    }
}
