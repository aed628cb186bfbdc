//! `pkt:encap{…}`: a table with fields.
//!
//! See [`super::super`] for the rules that make the unsafe code here sound.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use moonhook_hook::Hook;

use super::super::data::Data;
use super::{argument, put_inside};
use crate::protocol::tunnel::Carrier;

/// Where the fields' values are on the stack.
const SOURCE: c_int = 3;
const TARGET: c_int = 4;
const TTL: c_int = 5;
const CARRIERS: [(&CStr, &CStr, c_int); 3] = [
    (c"gre", c"field 'gre': table expected", 6),
    (c"vxlan", c"field 'vxlan': table expected", 7),
    (c"gue", c"field 'gue': table expected", 8),
];

/// Where the fields of what carries the packet are.
const FIRST: c_int = 9;

/// Pushes fields of the table at an index.
unsafe fn push_fields(state: *mut lua_State, table: c_int, names: &[&CStr]) {
    // SAFETY: see `super::super`.
    unsafe {
        for name in names {
            ffi::lua_getfield(state, table, name.as_ptr());
        }
    }
}

/// The integer of so many bits at an index; `default` for nil. An error about the table else.
unsafe fn number(
    state: *mut lua_State,
    index: c_int,
    bits: u32,
    default: Option<i64>,
    problem: &CStr,
) -> Option<i64> {
    // SAFETY: see `super::super`.
    unsafe {
        let kind = ffi::lua_type(state, index);
        if kind == ffi::LUA_TNIL {
            return default;
        }
        let number = ffi::lua_tointeger(state, index);
        let is_integer = kind == ffi::LUA_TNUMBER && ffi::lua_isinteger(state, index) != 0;
        if !is_integer || !(0..1 << bits).contains(&number) {
            ffi::luaL_argerror(state, 2, problem.as_ptr());
        }
        Some(number)
    }
}

pub(super) unsafe fn encap(state: *mut lua_State, packet: (*mut Data, &'static Hook)) -> c_int {
    // SAFETY: see `super::super`; nothing here has a destructor.
    unsafe {
        ffi::lua_settop(state, 2);
        push_fields(state, 2, &[c"src", c"dst", c"ttl"]);
        let carriers = CARRIERS.map(|(name, ..)| name);
        push_fields(state, 2, &carriers);
        let Some(source) = argument(state, SOURCE) else {
            return ffi::luaL_argerror(state, 2, c"field 'src': IP address expected".as_ptr());
        };
        let Some(target) = argument(state, TARGET) else {
            return ffi::luaL_argerror(state, 2, c"field 'dst': IP address expected".as_ptr());
        };
        if source.count != target.count {
            let problem = c"field 'dst': address of the same IP version expected";
            return ffi::luaL_argerror(state, 2, problem.as_ptr());
        }
        let ttl = number(state, TTL, 8, Some(64), c"field 'ttl': integer of 8 bits expected").unwrap_or(64);
        let carrier = carrier(state);
        match put_inside(state, packet, ([&source, &target], ttl as u8), &carrier) {
            Ok(()) => 0,
            Err(problem) => ffi::luaL_error(state, problem.as_ptr()),
        }
    }
}

/// What is to carry the packet.
unsafe fn carrier(state: *mut lua_State) -> Carrier {
    // SAFETY: see `super::super`.
    unsafe {
        let is_given = |(.., index): &(&CStr, &CStr, c_int)| ffi::lua_type(state, *index) != ffi::LUA_TNIL;
        if CARRIERS.iter().filter(|carrier| is_given(carrier)).count() > 1 {
            ffi::luaL_argerror(state, 2, c"one of gre, vxlan and gue expected".as_ptr());
        }
        let Some((name, problem, index)) = CARRIERS.into_iter().find(is_given) else { return Carrier::Ip };
        if ffi::lua_type(state, index) != ffi::LUA_TTABLE {
            ffi::luaL_argerror(state, 2, problem.as_ptr());
        }
        match name.to_bytes() {
            b"gre" => {
                push_fields(state, index, &[c"key"]);
                let problem = c"field 'gre.key': integer of 32 bits expected";
                Carrier::Gre { key: number(state, FIRST, 32, None, problem).map(|key| key as u32) }
            }
            b"vxlan" => {
                push_fields(state, index, &[c"vni", c"port", c"sport"]);
                let problem = c"field 'vxlan.vni': integer of 24 bits expected";
                let Some(identifier) = number(state, FIRST, 24, None, problem) else {
                    ffi::luaL_argerror(state, 2, problem.as_ptr());
                    return Carrier::Ip;
                };
                let problem = c"field 'vxlan.port': integer of 16 bits expected";
                let destination = number(state, FIRST + 1, 16, Some(4789), problem).unwrap_or(0);
                let problem = c"field 'vxlan.sport': integer of 16 bits expected";
                let source = number(state, FIRST + 2, 16, None, problem).map(|port| port as u16);
                Carrier::Vxlan { identifier: identifier as u32, source, destination: destination as u16 }
            }
            b"gue" => {
                push_fields(state, index, &[c"port", c"sport"]);
                let problem = c"field 'gue.port': integer of 16 bits expected";
                let destination = number(state, FIRST, 16, Some(6080), problem).unwrap_or(0);
                let problem = c"field 'gue.sport': integer of 16 bits expected";
                let source = number(state, FIRST + 1, 16, None, problem).map(|port| port as u16);
                Carrier::Gue { source, destination: destination as u16 }
            }
            _ => {
                ffi::luaL_argerror(state, 2, problem.as_ptr());
                Carrier::Ip
            }
        }
    }
}
