//! `pkt.payload = "…"`.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;

use super::data::{Data, bytes, bytes_mut, packet_frame, splice};
use super::lengths::{LONGER, MOST, SHORTER, is_of_stack};
use crate::protocol::{checksums, ip, payload, udp};

/// Assigns the value at index 3 to the payload of the packet at index 1.
pub(super) unsafe fn assign(state: *mut lua_State, data: *mut Data, hook: &Hook) -> c_int {
    // SAFETY: see `super`; the string at a stack index is not collected while the function runs, and nothing calls Lua while slices are used.
    unsafe {
        if ffi::lua_type(state, 3) != ffi::LUA_TSTRING {
            return ffi::luaL_error(state, c"bad value for field 'payload' (string expected)".as_ptr());
        }
        let frame = packet_frame(data);
        let ip = ip::find(frame).filter(|ip| !ip.more_fragments);
        let (Some(ip), Some(old)) = (ip, payload::find(frame)) else {
            return ffi::luaL_error(state, c"field 'payload' is not in this packet".as_ptr());
        };
        let udp = udp::find(frame).map(|udp| udp.start);
        let mut count = 0;
        let text: *const u8 = ffi::lua_tolstring(state, 3, &mut count).cast();
        let end = old.start + count;
        let stated = if ip.version == 4 { end - ip.start } else { end - ip.start - 40 };
        if end > MOST || stated > MOST {
            return ffi::luaL_error(state, LONGER.as_ptr());
        }
        // The kernel does not move the end of what it knows to be inside another packet.
        if is_of_stack(hook) && (*data).metadata.is_inside && end != bytes(data).len() {
            let problem = if end > bytes(data).len() { LONGER } else { SHORTER };
            return ffi::luaL_error(state, problem.as_ptr());
        }
        splice(state, 1, (old.start, bytes(data).len() - old.start, count));
        let packet = bytes_mut(data);
        packet[old.start..].copy_from_slice(std::slice::from_raw_parts(text, count));
        write(packet, ip.start + if ip.version == 4 { 2 } else { 4 }, stated);
        if let Some(start) = udp {
            write(packet, start + 4, end - start);
        }
        checksums::fix(hook, packet);
        0
    }
}

/// Writes a length, which fits.
fn write(packet: &mut [u8], at: usize, length: usize) {
    packet[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
}
