//! `data` objects: bytes with the access methods of Lunatik's `data` library, and, for a packet, its protocols.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use super::lua::{DATA, GONE};
use crate::metadata::Metadata;
use crate::protocol::Peer;
use crate::protocol::assign::Written;
use crate::protocol::vlan::is_tag;
use crate::protocol::{Beside, Frame, payload};
use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;
use moonhook_load::EMPTY_TEXTS_OUTSIDE;

/// A tag among the bytes of a frame that is shorter is cut off.
const CUT: usize = 18;

/// What a `data` object is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DataKind {
    /// The frame, as a hook has it: it shows protocols, and can be written if the hook says so.
    Packet(&'static Hook),
    /// `arg`: it can only be read.
    Argument,
}

/// The start of the userdata; the bytes that it has at first follow it. Of a packet whose length has changed, user value 1 is another userdata
/// with the bytes that there are now; of `arg`, user value 1 is its packet.
#[repr(C)]
pub(super) struct Data {
    bytes: *mut u8,
    length: usize,
    pub(super) kind: DataKind,
    alive: bool,
    pub(super) metadata: Metadata,
}

pub(super) unsafe fn push(state: *mut lua_State, kind: DataKind, bytes: &[u8], metadata: Metadata) {
    // SAFETY: the promise of `super::push`; the userdata has room for the start and the bytes, and Lua aligns it.
    unsafe {
        let data: *mut Data = ffi::lua_newuserdatauv(state, size_of::<Data>() + bytes.len(), 1).cast();
        let first = data.add(1).cast();
        data.write(Data { bytes: first, length: bytes.len(), kind, alive: true, metadata });
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), first, bytes.len());
        ffi::luaL_setmetatable(state, DATA.as_ptr());
    }
}

pub(super) unsafe fn push_window(
    state: *mut lua_State,
    kind: DataKind,
    bytes: *mut [u8],
    metadata: Metadata,
) {
    // SAFETY: the promise of `super::push_window`; Lua aligns the userdata.
    unsafe {
        let data: *mut Data = ffi::lua_newuserdatauv(state, size_of::<Data>(), 1).cast();
        data.write(Data { bytes: bytes.cast(), length: bytes.len(), kind, alive: true, metadata });
        ffi::luaL_setmetatable(state, DATA.as_ptr());
        ffi::lua_pushvalue(state, -2);
        ffi::lua_setiuservalue(state, -2, 1);
        ffi::lua_replace(state, -2);
    }
}

pub(super) unsafe fn aim(data: *mut Data, kind: DataKind, bytes: *mut [u8]) {
    // SAFETY: the promise of `super::aim`.
    unsafe {
        ((*data).bytes, (*data).length, (*data).kind) = (bytes.cast(), bytes.len(), kind);
    }
}

pub(super) unsafe fn push_argument(state: *mut lua_State) {
    // SAFETY: the promise of `super::push_argument`.
    unsafe {
        push(state, DataKind::Argument, &[0; 2], Metadata::default());
        ffi::lua_pushvalue(state, -2);
        ffi::lua_setiuservalue(state, -2, 1);
    }
}

/// Puts `added` zeros into the place of the `removed` bytes of the packet at `position`, from the top or from the bottom of the stack, that
/// start at `at`, and which are there.
pub(super) unsafe fn splice(
    state: *mut lua_State,
    position: c_int,
    (at, removed, added): (usize, usize, usize),
) {
    // SAFETY: see `super`; the new block has room for what is copied, and is kept by the packet before the old one can be collected. Nothing
    // calls Lua while slices of either are in use.
    unsafe {
        let position = ffi::lua_absindex(state, position);
        let data: *mut Data = ffi::lua_touserdata(state, position).cast();
        let length = (*data).length - removed + added;
        let block: *mut u8 = ffi::lua_newuserdatauv(state, length.max(1), 0).cast();
        let (old, new) = (bytes(data), std::slice::from_raw_parts_mut(block, length));
        new[..at].copy_from_slice(&old[..at]);
        new[at..at + added].fill(0);
        new[at + added..].copy_from_slice(&old[at + removed..]);
        if at + removed < old.len() {
            (*data).metadata.head += added as i64 - removed as i64;
        }
        ((*data).bytes, (*data).length) = (block, length);
        ffi::lua_setiuservalue(state, position, 1);
    }
}

/// `arg` says where the payload of its packet starts now.
unsafe fn refresh(state: *mut lua_State, position: c_int, data: *mut Data) {
    // SAFETY: see `super`; user value 1 of `arg` is a packet, which therefore lives as long.
    unsafe {
        if (*data).kind != DataKind::Argument {
            return;
        }
        ffi::lua_getiuservalue(state, position, 1);
        let packet: *mut Data = ffi::lua_touserdata(state, -1).cast();
        ffi::lua_pop(state, 1);
        let offset = payload::offset(packet_frame(packet)) as u16;
        bytes_mut(data).copy_from_slice(&offset.to_be_bytes());
    }
}

/// The bytes of a packet, and what they begin with.
pub(super) unsafe fn packet_frame<'a>(data: *mut Data) -> Frame<'a> {
    // SAFETY: as in `bytes`.
    unsafe {
        let plain = match (*data).kind {
            DataKind::Packet(hook) => Frame::at(hook, bytes(data)),
            DataKind::Argument => Frame::of_link(bytes(data)),
        };
        let is_fixed = is_tag((*data).metadata.ethertype) && (*data).length < CUT;
        let beside = (*data).metadata.tag.map(|tag| Beside { control: tag.control, is_fixed });
        Frame { beside, peer: (*data).metadata.peer, ..plain }
    }
}

pub(super) unsafe fn bytes<'a>(data: *mut Data) -> &'a [u8] {
    // SAFETY: the promise of `super::bytes`; nothing writes the bytes while the slice is in use.
    unsafe { std::slice::from_raw_parts((*data).bytes, (*data).length) }
}

pub(super) unsafe fn bytes_mut<'a>(data: *mut Data) -> &'a mut [u8] {
    // SAFETY: as in `bytes`.
    unsafe { std::slice::from_raw_parts_mut((*data).bytes, (*data).length) }
}

pub(super) unsafe fn metadata(data: *mut Data) -> Metadata {
    // SAFETY: the promise of `super::metadata`.
    unsafe { (*data).metadata }
}

pub(super) unsafe fn hook(state: *mut lua_State, index: c_int) -> Option<&'static Hook> {
    // SAFETY: objects with that metatable are ours.
    unsafe {
        let data: *const Data = ffi::luaL_testudata(state, index, DATA.as_ptr()).cast();
        match data.as_ref()?.kind {
            DataKind::Packet(hook) => Some(hook),
            DataKind::Argument => None,
        }
    }
}

pub(super) unsafe fn expire(data: *mut Data) {
    // SAFETY: the promise of `super::expire`.
    unsafe { (*data).alive = false }
}

/// The frame of the packet at `position`, which is a `data` object; raises an error if its handler has returned.
pub(super) unsafe fn frame<'a>(state: *mut lua_State, position: c_int) -> Frame<'a> {
    // SAFETY: `__index`, `__len` and `__tostring` of objects that `push` made.
    unsafe {
        let data: *mut Data = ffi::luaL_checkudata(state, position, DATA.as_ptr()).cast();
        if !(*data).alive {
            ffi::luaL_error(state, GONE.as_ptr());
        }
        refresh(state, position, data);
        packet_frame(data)
    }
}

/// As [`frame`], to be written. Raises an error where packets can only be read.
pub(super) unsafe fn frame_mut<'a>(state: *mut lua_State, position: c_int) -> Written<'a> {
    // SAFETY: as in `frame`, which has checked the object.
    unsafe {
        let Frame { layer, is_of_wire, beside, .. } = frame(state, position);
        let data: *mut Data = ffi::lua_touserdata(state, position).cast();
        if !(*data).kind.is_writable() {
            ffi::luaL_error(state, READ_ONLY.as_ptr());
        }
        let tag = (*data).metadata.tag.as_mut().zip(beside);
        let beside = tag.map(|(tag, beside)| (&mut tag.control, beside.is_fixed));
        Written { bytes: bytes_mut(data), layer, is_of_wire, beside }
    }
}

/// What is kept of the peer beside the packet at `position`; raises an error if its handler has returned.
pub(super) unsafe fn peer_mut<'a>(state: *mut lua_State, position: c_int) -> Option<&'a mut Peer> {
    // SAFETY: as in `frame`, which has checked the object.
    unsafe {
        frame(state, position);
        let data: *mut Data = ffi::lua_touserdata(state, position).cast();
        (*data).metadata.peer.as_mut()
    }
}

/// What assigning a field raises at hooks whose packets can only be read.
const READ_ONLY: &CStr = c"packets are read only at this hook";

impl DataKind {
    fn is_writable(self) -> bool {
        match self {
            DataKind::Packet(hook) => hook.can_write(),
            DataKind::Argument => false,
        }
    }
}

/// The object at index 1 as a method checks it.
pub(super) unsafe fn check(state: *mut lua_State, write: bool) -> *mut Data {
    // SAFETY: see `super`.
    unsafe {
        let data: *mut Data = ffi::luaL_checkudata(state, 1, DATA.as_ptr()).cast();
        if !(*data).alive {
            ffi::luaL_argerror(state, 1, c"its handler has returned".as_ptr());
        }
        if write {
            check_writable(state, data);
        }
        refresh(state, 1, data);
        data
    }
}

/// Raises an error about argument 1 unless the object can be written.
pub(super) unsafe fn check_writable(state: *mut lua_State, data: *mut Data) {
    // SAFETY: see `super`.
    unsafe {
        if !(*data).kind.is_writable() {
            ffi::luaL_argerror(state, 1, c"read only".as_ptr());
        }
    }
}

/// As [`check_bounds`], of a text, which may have no bytes unless the registry says otherwise ([`EMPTY_TEXTS_OUTSIDE`]).
pub(super) unsafe fn check_text_bounds(
    state: *mut lua_State,
    data: *mut Data,
    offset: i64,
    length: i64,
) -> usize {
    // SAFETY: see `super`.
    unsafe {
        if length == 0 {
            ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, EMPTY_TEXTS_OUTSIDE.as_ptr());
            if ffi::lua_toboolean(state, -1) != 0 {
                ffi::luaL_argerror(state, 2, c"out of bounds".as_ptr());
            }
            ffi::lua_pop(state, 1);
        }
        check_bounds(state, data, offset, length)
    }
}

/// The first of the `length` bytes at `offset`; raises an error about argument 2 unless all of them are there.
pub(super) unsafe fn check_bounds(state: *mut lua_State, data: *mut Data, offset: i64, length: i64) -> usize {
    // SAFETY: see `super`.
    unsafe {
        let size = (*data).length as i64;
        if offset < 0 || offset > size || length < 0 || length > size - offset {
            ffi::luaL_argerror(state, 2, c"out of bounds".as_ptr());
        }
        offset as usize
    }
}
