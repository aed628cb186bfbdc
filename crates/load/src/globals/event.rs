//! `event(name, value…)`: tells those who listen with `on`. Handlers use it too; here it is what control code and handlers in
//! real Lua get. A C function, so that its errors are those of Lua's own functions.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use mlua::{Function, MultiValue, Value};
use moonhook_shape::Datum;

use super::Global;
use crate::modules::Context;

pub(super) const GLOBAL: Global = Global { name: "event", open };

const VALUES: &CStr = c"integer, string, boolean or nil";

fn open(context: &mut Context) -> mlua::Result<Value> {
    let requests = context.registry.requests.clone();
    let send = context.lua.create_function(move |lua, arguments: MultiValue| {
        let mut values: Vec<Datum> = arguments.iter().map(datum).collect();
        match values.remove(0) {
            Datum::Text(name) => requests.event(lua, name, values),
            _ => Ok(()),
        }
    })?;
    // SAFETY: `event` keeps to what C functions may do, and gets the one upvalue that it uses.
    let function: Function =
        unsafe { context.lua.exec_raw(send, |state| ffi::lua_pushcclosure(state, event, 1))? };
    context.names.add_function("event", function.clone());
    Ok(Value::Function(function))
}

fn datum(value: &Value) -> Datum {
    match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        _ => Datum::Nil,
    }
}

/// Looks at the arguments and gives them to its upvalue.
unsafe extern "C-unwind" fn event(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls C functions with LUA_MINSTACK stack slots beyond the arguments; nothing here has a destructor.
    unsafe {
        let count = ffi::lua_gettop(state);
        ffi::luaL_checklstring(state, 1, std::ptr::null_mut());
        for index in 2..=count {
            let is_number = |index| ffi::lua_type(state, index) == ffi::LUA_TNUMBER;
            match ffi::lua_type(state, index) {
                ffi::LUA_TNIL | ffi::LUA_TBOOLEAN | ffi::LUA_TSTRING => {}
                _ if is_number(index) && ffi::lua_isinteger(state, index) != 0 => {}
                _ => return wrong_type(state, index),
            }
        }
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_insert(state, 1);
        ffi::lua_call(state, count, 0);
        0
    }
}

/// `luaL_typeerror`.
unsafe fn wrong_type(state: *mut lua_State, index: c_int) -> c_int {
    // SAFETY: as in `event`; the strings are on the stack or static.
    unsafe {
        let got = if ffi::luaL_getmetafield(state, index, c"__name".as_ptr()) == ffi::LUA_TSTRING {
            ffi::lua_tostring(state, -1)
        } else {
            ffi::lua_typename(state, ffi::lua_type(state, index))
        };
        let message = ffi::lua_pushfstring(state, c"%s expected, got %s".as_ptr(), VALUES.as_ptr(), got);
        ffi::luaL_argerror(state, index, message)
    }
}
