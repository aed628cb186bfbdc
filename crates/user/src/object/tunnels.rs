//! `pkt:encap(…)` and `pkt:decap()`.
//!
//! See [`super`] for the rules that make the unsafe code here sound: what is made of Rust's memory is gone before Lua raises an error.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use moonhook_hook::{Hook, Layer};

use super::data::{Data, bytes, bytes_mut, packet_frame, splice};
use super::lengths::{LONGER, MOST, MOST_ROOM, SHORTER, check_changeable, is_of_stack};
use crate::protocol::assign::address;
use crate::protocol::ip::{self, Ip};
use crate::protocol::tunnel::{self, Carrier, Inside};

mod named;

/// Bytes of an Ethernet header: at tc the kernel changes what is behind it.
const ETHERNET: usize = 14;

/// The most bytes of headers that are put in front: IPv6, UDP and VXLAN.
const MOST_HEADERS: usize = 40 + 8 + 8;

/// The bytes of an address, of which there are 4 or 16.
struct Address {
    bytes: [u8; 16],
    count: usize,
}

pub(super) unsafe extern "C-unwind" fn encap(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        if ffi::lua_type(state, 2) == ffi::LUA_TTABLE {
            return named::encap(state, (data, hook));
        }
        let Some(source) = argument(state, 2) else {
            return ffi::luaL_argerror(state, 2, c"IP address expected".as_ptr());
        };
        let Some(target) = argument(state, 3) else {
            return ffi::luaL_argerror(state, 3, c"IP address expected".as_ptr());
        };
        if source.count != target.count {
            return ffi::luaL_argerror(state, 3, c"address of the same IP version expected".as_ptr());
        }
        let Ok(ttl) = u8::try_from(ffi::luaL_optinteger(state, 4, 64)) else {
            return ffi::luaL_argerror(state, 4, c"integer of 8 bits expected".as_ptr());
        };
        match put_inside(state, (data, hook), ([&source, &target], ttl), &Carrier::Ip) {
            Ok(()) => 0,
            Err(problem) => ffi::luaL_error(state, problem.as_ptr()),
        }
    }
}

/// The address that a value on the stack is the text of.
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
    !is_of_stack(hook) || ip.start == ETHERNET && is_ip(ethertype)
}

/// Whether the type of a frame is that of an IP packet.
fn is_ip(ethertype: u16) -> bool {
    matches!(ethertype, 0x0800 | 0x86dd)
}

unsafe fn put_inside(
    state: *mut lua_State,
    (data, hook): (*mut Data, &'static Hook),
    ([source, target], ttl): ([&Address; 2], u8),
    carrier: &Carrier,
) -> Result<(), &'static CStr> {
    // SAFETY: see `super`; the headers are short, and no memory that is Rust's is needed when Lua is called.
    unsafe {
        let takes_frames = matches!(carrier, Carrier::Vxlan { .. });
        let ip = ip::find(packet_frame(data));
        if ip.is_none() && !takes_frames {
            return Err(c"packet has no IP header");
        }
        let is_known = is_of_stack(hook) && (*data).metadata.is_inside;
        let addresses = [source, target].map(|address| &address.bytes[..address.count]);
        let mut headers = [0; MOST_HEADERS];
        let count = {
            let outer =
                tunnel::outer(packet_frame(data), ip.as_ref(), (addresses, ttl), carrier).ok_or(LONGER)?;
            headers[..outer.len()].copy_from_slice(&outer);
            outer.len()
        };
        let is_movable = match &ip {
            Some(ip) if !takes_frames => is_movable(data, hook, ip),
            _ => !is_of_stack(hook) || is_ip((*data).metadata.ethertype),
        };
        let more = if takes_frames { count + ETHERNET } else { count };
        let length = bytes(data).len();
        if is_known || !is_movable || length < ETHERNET || length + more > MOST {
            return Err(LONGER);
        }
        let start = match ip {
            Some(ip) if !takes_frames => ip.start,
            _ => ETHERNET,
        };
        if takes_frames {
            // In front of the frame comes a copy of its header, and the new ones behind that.
            splice(state, 1, (0, 0, more));
            bytes_mut(data).copy_within(more..more + ETHERNET, 0);
        } else {
            splice(state, 1, (start, 0, count));
        }
        bytes_mut(data)[start..start + count].copy_from_slice(&headers[..count]);
        say(data, start, if source.count == 4 { 4 } else { 6 });
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
        let inside = tunnel::inside(packet_frame(data)).filter(|inside| !inside.outer.more_fragments);
        let Some(Inside { outer, start, layer }) = inside else {
            return ffi::luaL_error(state, c"packet carries no IP packet".as_ptr());
        };
        let taken = match layer {
            Layer::Link => take_frame(state, (data, hook), &outer, start),
            _ => take_packet(state, (data, hook), &outer, start),
        };
        if taken { 0 } else { ffi::luaL_error(state, SHORTER.as_ptr()) }
    }
}

/// Leaves the IP packet at `start` behind the link's header.
unsafe fn take_packet(
    state: *mut lua_State,
    (data, hook): (*mut Data, &Hook),
    outer: &Ip,
    start: usize,
) -> bool {
    // SAFETY: see `super`.
    unsafe {
        let count = start - outer.start;
        if is_of_stack(hook) && count > MOST_ROOM || !is_movable(data, hook, outer) {
            return false;
        }
        let version = bytes(data)[start] >> 4;
        splice(state, 1, (outer.start, count, 0));
        say(data, outer.start, version);
        true
    }
}

/// Leaves the frame at `start`. At tc the kernel goes on with an IP packet behind an Ethernet header without tags.
unsafe fn take_frame(
    state: *mut lua_State,
    (data, hook): (*mut Data, &Hook),
    outer: &Ip,
    start: usize,
) -> bool {
    // SAFETY: see `super`.
    unsafe {
        let kind = tunnel::kind(&bytes(data)[start..]).unwrap_or(0);
        if is_of_stack(hook) {
            let least = if kind == 0x0800 { 20 } else { 40 };
            let is_left = is_ip(kind) && bytes(data).len() - start - ETHERNET >= least;
            if start > MOST_ROOM || !is_movable(data, hook, outer) || !is_left {
                return false;
            }
            (*data).metadata.ethertype = kind;
        }
        splice(state, 1, (0, start, 0));
        true
    }
}
