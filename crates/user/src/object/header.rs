//! `header` objects: `pkt.ip` and its like. A header holds which protocol it is and, as its user value, the packet.
//!
//! See [`super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use moonhook_library as library;
use moonhook_library::own::HTTP;
use moonhook_library::own::dns::HEADER as DNS;
use moonhook_library::own::http::HEADER as METHOD;

use super::data;
use super::lua::{HEADER, key, no_assignment, no_field, protect, push_value, set_function};
use super::records;
use crate::protocol::assign::{Given, Refusal, Takes, assign};
use crate::protocol::{Frame, PROTOCOLS, Value, View, http, inner, peer};

/// The userdata: an index into [`PROTOCOLS`].
#[repr(C)]
struct Header {
    protocol: usize,
    /// It is that of the packet inside.
    is_inner: bool,
}

pub(super) unsafe fn register(state: *mut lua_State) {
    // SAFETY: the promise of `super::register`.
    unsafe {
        ffi::luaL_newmetatable(state, HEADER.as_ptr());
        protect(state);
        set_function(state, c"__index", index);
        set_function(state, c"__newindex", set_index);
        set_function(state, c"__eq", equal);
        ffi::lua_pop(state, 1);
    }
}

/// Pushes a header of the packet at index 1.
pub(super) unsafe fn push(state: *mut lua_State, protocol: usize) {
    // SAFETY: see `super`.
    unsafe { push_of(state, 1, Header { protocol, is_inner: false }) }
}

/// Pushes a header of the packet at an index from the bottom of the stack.
unsafe fn push_of(state: *mut lua_State, packet: c_int, content: Header) {
    // SAFETY: see `super`; the userdata has room for a `Header`.
    unsafe {
        let header: *mut Header = ffi::lua_newuserdatauv(state, size_of::<Header>(), 1).cast();
        header.write(content);
        ffi::lua_pushvalue(state, packet);
        ffi::lua_setiuservalue(state, -2, 1);
        ffi::luaL_setmetatable(state, HEADER.as_ptr());
    }
}

unsafe extern "C-unwind" fn index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; user value 1 of a header is its packet, which therefore lives as long as the header.
    unsafe {
        let header: *mut Header = ffi::luaL_checkudata(state, 1, HEADER.as_ptr()).cast();
        let protocol = &PROTOCOLS[(*header).protocol];
        ffi::lua_getiuservalue(state, 1, 1);
        let frame = data::frame(state, -1);
        if protocol.name == inner::PROTOCOL.name {
            return match key(state).and_then(inner::member) {
                Some(member) => push_inside(state, frame, member),
                None => no_header_field(state, protocol.name),
            };
        }
        if (*header).is_inner {
            let field = key(state).and_then(|name| protocol.field(name));
            let Some(field) = field else { return no_header_field(state, protocol.name) };
            let Some(inside) = inner::find(frame) else {
                ffi::lua_pushnil(state);
                return 1;
            };
            push_value(state, (field.read)(inside), inside);
            return 1;
        }
        match key(state).and_then(|name| protocol.field(name)) {
            Some(field) => push_value(state, (field.read)(frame), frame),
            None if is_header_method(state, protocol.name) => ffi::lua_pushcfunction(state, http_header),
            None if protocol.name == DNS
                && let Some(section) = key(state).and_then(records::section_of) =>
            {
                let methods: [ffi::lua_CFunction; 3] = [answers, authorities, additionals];
                ffi::lua_pushcfunction(state, methods[section - 1]);
            }
            None => return no_header_field(state, protocol.name),
        }
        1
    }
}

/// Pushes what the packet inside of `frame`, which is on top of the stack, shows.
unsafe fn push_inside(state: *mut lua_State, frame: Frame<'_>, member: usize) -> c_int {
    // SAFETY: see `super`.
    unsafe {
        let inside = inner::find(frame);
        match (&PROTOCOLS[member].view, inside) {
            (View::Header { present, .. }, Some(inside)) if present(inside) => {
                push_of(state, ffi::lua_gettop(state), Header { protocol: member, is_inner: true });
            }
            (View::Plain(read), Some(inside)) => push_value(state, read(inside), inside),
            _ => ffi::lua_pushnil(state),
        }
        1
    }
}

/// Whether the key at index 2 is the method of HTTP messages.
unsafe fn is_header_method(state: *mut lua_State, protocol: &str) -> bool {
    // SAFETY: see `super`.
    protocol == HTTP.name && unsafe { key(state) } == Some(library::key(METHOD).as_bytes())
}

/// `pkt.http:header(name)`.
unsafe extern "C-unwind" fn http_header(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; as in `index`, and the name's bytes are not kept beyond the next call into Lua.
    unsafe {
        let header: *mut Header = ffi::luaL_testudata(state, 1, HEADER.as_ptr()).cast();
        if header.is_null() || (*header).is_inner || PROTOCOLS[(*header).protocol].name != HTTP.name {
            // No metatable has that name: the error of an argument of another type is raised.
            ffi::luaL_checkudata(state, 1, c"http".as_ptr());
            return 0;
        }
        let mut length = 0;
        let name = ffi::luaL_checklstring(state, 2, &mut length);
        ffi::lua_getiuservalue(state, 1, 1);
        let frame = data::frame(state, -1);
        let value = http::value(frame, std::slice::from_raw_parts(name.cast(), length));
        push_value(state, value.and_then(Value::bytes), frame);
        1
    }
}

unsafe extern "C-unwind" fn answers(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe { section(state, 1) }
}

unsafe extern "C-unwind" fn authorities(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe { section(state, 2) }
}

unsafe extern "C-unwind" fn additionals(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`.
    unsafe { section(state, 3) }
}

/// Gives the iterator over a section of the message at index 1.
unsafe fn section(state: *mut lua_State, section: usize) -> c_int {
    // SAFETY: see `super`; as in `http_header`.
    unsafe {
        let header: *mut Header = ffi::luaL_testudata(state, 1, HEADER.as_ptr()).cast();
        if header.is_null() || (*header).is_inner || PROTOCOLS[(*header).protocol].name != DNS {
            ffi::luaL_checkudata(state, 1, c"dns".as_ptr());
            return 0;
        }
        ffi::lua_getiuservalue(state, 1, 1);
        let frame = data::frame(state, -1);
        records::push_iterator(state, frame, section, next_record);
        1
    }
}

/// A call of that iterator.
unsafe extern "C-unwind" fn next_record(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; upvalue 1 is a header, whose user value 1 is its packet.
    unsafe {
        ffi::lua_getiuservalue(state, ffi::lua_upvalueindex(1), 1);
        let frame = data::frame(state, -1);
        records::push_next(state, frame);
        1
    }
}

unsafe extern "C-unwind" fn set_index(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; as in `index`, and the slice of a string at a stack index ends before anything else is called.
    unsafe {
        let header: *mut Header = ffi::luaL_checkudata(state, 1, HEADER.as_ptr()).cast();
        let protocol = &PROTOCOLS[(*header).protocol];
        ffi::lua_getiuservalue(state, 1, 1);
        let peer = data::peer_mut(state, -1).filter(|_| protocol.name == peer::PROTOCOL.name);
        let packet = if peer.is_some() { None } else { Some(data::frame_mut(state, -1)) };
        let can_be = |name| protocol.assignment(name).filter(|_| !(*header).is_inner);
        let Some(field) = key(state).and_then(can_be) else {
            let owner = c_string(state, protocol.name);
            return no_assignment(state, owner);
        };
        let name = ffi::lua_tolstring(state, 2, std::ptr::null_mut());
        let assigned = match (peer, packet) {
            (Some(peer), _) => peer.assign(field.name, given(state)),
            (None, Some(packet)) => assign(packet, field, given(state)),
            (None, None) => Err(Refusal::Absent),
        };
        match assigned {
            Ok(()) => 0,
            Err(Refusal::Absent) => {
                ffi::luaL_error(state, c"field '%s' is not in this packet".as_ptr(), name)
            }
            Err(Refusal::Unfit) => match field.takes {
                Takes::Number(bits) => {
                    let message = c"bad value for field '%s' (integer of %d bits expected)";
                    ffi::luaL_error(state, message.as_ptr(), name, bits as c_int)
                }
                takes => {
                    let expected = match takes {
                        Takes::Flag => c"boolean",
                        Takes::Mac => c"MAC address",
                        Takes::Ipv4 => c"IPv4 address",
                        _ => c"address of the packet's IP version",
                    };
                    let message = c"bad value for field '%s' (%s expected)";
                    ffi::luaL_error(state, message.as_ptr(), name, expected.as_ptr())
                }
            },
        }
    }
}

/// The value at index 3.
unsafe fn given<'a>(state: *mut lua_State) -> Given<'a> {
    // SAFETY: see `super`.
    unsafe {
        match ffi::lua_type(state, 3) {
            ffi::LUA_TNUMBER if ffi::lua_isinteger(state, 3) != 0 => {
                Given::Integer(ffi::lua_tointeger(state, 3))
            }
            ffi::LUA_TBOOLEAN => Given::Boolean(ffi::lua_toboolean(state, 3) != 0),
            ffi::LUA_TSTRING => {
                let mut length = 0;
                let start = ffi::lua_tolstring(state, 3, &mut length);
                Given::Text(std::slice::from_raw_parts(start.cast(), length))
            }
            _ => Given::Other,
        }
    }
}

/// A packet has one header of each protocol, whenever it is asked for.
unsafe extern "C-unwind" fn equal(state: *mut lua_State) -> c_int {
    // SAFETY: see `super`; one of the two is a header, the other one may be another userdata.
    unsafe {
        let header = |at| ffi::luaL_testudata(state, at, HEADER.as_ptr()).cast::<Header>().cast_const();
        let (first, second) = (header(1), header(2));
        let is_one = !first.is_null()
            && !second.is_null()
            && (*first).protocol == (*second).protocol
            && (*first).is_inner == (*second).is_inner
            && {
                ffi::lua_getiuservalue(state, 1, 1);
                ffi::lua_getiuservalue(state, 2, 1);
                ffi::lua_rawequal(state, -1, -2) != 0
            };
        ffi::lua_pushboolean(state, is_one.into());
        1
    }
}

unsafe fn no_header_field(state: *mut lua_State, protocol: &'static str) -> c_int {
    // SAFETY: see `super`.
    unsafe { no_field(state, c_string(state, protocol)) }
}

/// Protocol names do not end in NUL, so Lua makes a string of this one first.
unsafe fn c_string<'a>(state: *mut lua_State, protocol: &'static str) -> &'a CStr {
    // SAFETY: see `super`; the pushed string stays on the stack while it is used.
    unsafe { CStr::from_ptr(ffi::lua_pushlstring(state, protocol.as_ptr().cast(), protocol.len())) }
}
