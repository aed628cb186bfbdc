//! `pkt:push_vlan(…)` and `pkt:pop_vlan()`.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use super::data::{Data, bytes, bytes_mut, splice};
use super::lengths::{LONGER, MOST, SHORTER, check_changeable, is_of_stack};
use crate::metadata::Tag;
use crate::protocol::vlan::is_tag;

/// Where the type of an Ethernet frame stands, in front of which tags are put.
const TYPE: usize = 12;

/// Bytes of a tag, with its type.
const LENGTH: usize = 4;

/// The least type that is one: below, it is a length (IEEE 802.3 § 3.2.6).
const LEAST_TYPE: u16 = 0x600;

pub(super) unsafe extern "C-unwind" fn push_vlan(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        let id = ffi::luaL_checkinteger(state, 2);
        let priority = ffi::luaL_optinteger(state, 3, 0);
        let kind = ffi::luaL_optinteger(state, 4, 0x8100);
        if !(0..0x1000).contains(&id) {
            return ffi::luaL_argerror(state, 2, c"integer of 12 bits expected".as_ptr());
        }
        if !(0..8).contains(&priority) {
            return ffi::luaL_argerror(state, 3, c"integer of 3 bits expected".as_ptr());
        }
        if !matches!(kind, 0x8100 | 0x88a8) {
            return ffi::luaL_argerror(state, 4, c"0x8100 or 0x88a8 expected".as_ptr());
        }
        let tag = Tag { kind: kind as u16, control: (priority << 13 | id) as u16 };
        if !is_of_stack(hook) {
            // The kernel has no frames without a whole link header.
            let length = bytes(data).len();
            if length < TYPE || length + LENGTH > MOST {
                return ffi::luaL_error(state, LONGER.as_ptr());
            }
            insert(state, data, tag);
            return 0;
        }
        if let Some(before) = (*data).metadata.tag.replace(tag) {
            insert(state, data, before);
            (*data).metadata.ethertype = before.kind;
        }
        0
    }
}

/// Puts a tag among the bytes of the packet at index 1.
unsafe fn insert(state: *mut lua_State, data: *mut Data, tag: Tag) {
    // SAFETY: see `super`.
    unsafe {
        splice(state, 1, (TYPE, 0, LENGTH));
        let place = &mut bytes_mut(data)[TYPE..TYPE + LENGTH];
        place[..2].copy_from_slice(&tag.kind.to_be_bytes());
        place[2..].copy_from_slice(&tag.control.to_be_bytes());
    }
}

pub(super) unsafe extern "C-unwind" fn pop_vlan(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let (data, hook) = check_changeable(state);
        if !is_of_stack(hook) {
            return match first(data) {
                Some(_) => {
                    splice(state, 1, (TYPE, LENGTH, 0));
                    0
                }
                None => no_tag(state),
            };
        }
        let known = (*data).metadata.ethertype;
        let is_beside = (*data).metadata.tag.is_some();
        let is_known = is_tag(known) && first(data).is_some();
        if !is_beside && !is_known {
            return no_tag(state);
        }
        // What is the first tag among the bytes when the outer one is gone goes beside the packet.
        let (next, start) =
            if is_beside { (known, TYPE) } else { (word(data, TYPE + LENGTH), TYPE + LENGTH) };
        if is_tag(next) && bytes(data).len() < start + 2 + LENGTH {
            return ffi::luaL_error(state, SHORTER.as_ptr());
        }
        (*data).metadata.tag = None;
        if !is_beside {
            remove(state, data);
        }
        if is_tag((*data).metadata.ethertype) {
            let (kind, control) = ((*data).metadata.ethertype, word(data, TYPE + 2));
            remove(state, data);
            (*data).metadata.tag = Some(Tag { kind, control });
        }
        0
    }
}

unsafe fn no_tag(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe { ffi::luaL_error(state, c"packet has no VLAN tag".as_ptr()) }
}

/// Takes the first tag out of the bytes of the packet at index 1, as the kernel does.
unsafe fn remove(state: *mut lua_State, data: *mut Data) {
    // SAFETY: see `super`.
    unsafe {
        let ethertype = word(data, TYPE + LENGTH);
        splice(state, 1, (TYPE, LENGTH, 0));
        (*data).metadata.ethertype = if ethertype >= LEAST_TYPE { ethertype } else { 0 };
    }
}

/// The type of the first tag among the bytes, if there is one and it is whole.
unsafe fn first(data: *mut Data) -> Option<u16> {
    // SAFETY: see `super`.
    unsafe {
        let is_whole = bytes(data).len() >= TYPE + LENGTH + 2;
        (is_whole && is_tag(word(data, TYPE))).then(|| word(data, TYPE))
    }
}

/// A big-endian word that is there; 0 otherwise.
unsafe fn word(data: *mut Data, at: usize) -> u16 {
    // SAFETY: see `super`.
    let found = unsafe { bytes(data).get(at..at + 2) };
    found.map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}
