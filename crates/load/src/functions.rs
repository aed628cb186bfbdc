//! Functions written in Rust that raise errors as C functions of Lua do: a message with the script's line in front.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::chunk::ChunkMode;
use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, MultiValue, Value};

/// A chunk of our own, stripped: should an error be blamed on it (a script that calls it in tail position has left the
/// stack), the message has no position at all rather than one inside it. Its text is compiled once for all states.
pub(crate) fn without_lines(lua: &Lua, text: &'static str) -> mlua::Result<Function> {
    static COMPILED: Mutex<BTreeMap<&'static str, Arc<[u8]>>> = Mutex::new(BTreeMap::new());
    let known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
    let stripped = match known {
        Some(stripped) => stripped,
        None => {
            let stripped: Arc<[u8]> = lua.load(text).into_function()?.dump(true).into();
            COMPILED.lock().unwrap_or_else(PoisonError::into_inner).insert(text, stripped.clone());
            stripped
        }
    };
    lua.load(&*stripped).set_name("=moonhook").set_mode(ChunkMode::Binary).into_function()
}

/// The message of an error behind which nothing more of a script runs. It is that of memory that ran out (`MEMERRMSG`, lgc.h), by which
/// `lua_error` knows that no handler of `xpcall` is to be called.
pub const OVER: &str = "not enough memory";

/// Calls its upvalue, which returns `true` and its results or `false` and a message, or nil where the error is [`OVER`]; raises the message with the script's line in front. As it is
/// a C function, the line is that of the call also where a function calls it in tail position.
unsafe extern "C-unwind" fn raise(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls C functions with LUA_MINSTACK stack slots beyond the arguments; nothing here has a destructor.
    unsafe {
        let count = ffi::lua_gettop(state);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_insert(state, 1);
        ffi::lua_call(state, count, ffi::LUA_MULTRET);
        if ffi::lua_toboolean(state, 1) != 0 {
            return ffi::lua_gettop(state) - 1;
        }
        if ffi::lua_isnil(state, 1) != 0 {
            ffi::lua_pushlstring(state, OVER.as_ptr().cast(), OVER.len());
            ffi::lua_error(state)
        }
        ffi::luaL_where(state, 1);
        ffi::lua_pushvalue(state, 2);
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// A function with this body. An `Err` is raised at the line of the script that called it, or, for metamethods, has the operation.
pub fn raising<F>(lua: &Lua, body: F) -> mlua::Result<Function>
where
    F: Fn(&Lua, MultiValue) -> Result<MultiValue, String> + 'static,
{
    let raw = lua.create_function(move |lua, arguments: MultiValue| {
        let mut results = match body(lua, arguments) {
            Ok(results) => results,
            Err(message) if message == OVER => return Ok(MultiValue::from_iter([Value::Nil])),
            Err(message) => {
                let message = Value::String(lua.create_string(message)?);
                return Ok(MultiValue::from_iter([Value::Boolean(false), message]));
            }
        };
        results.push_front(Value::Boolean(true));
        Ok(results)
    })?;
    // SAFETY: `raise` keeps to what C functions may do, and gets the one upvalue that it uses.
    unsafe { lua.exec_raw(raw, |state| ffi::lua_pushcclosure(state, raise, 1)) }
}

/// What messages call the type of userdata: `__name` of the metatable (`luaL_typeerror`, lauxlib.c); `None` without one.
pub fn userdata_name(lua: &Lua, value: &Value) -> Option<String> {
    if !matches!(value, Value::UserData(_)) {
        return None;
    }
    let name = |state| {
        // SAFETY: the one value is on the stack, and there is room for two more; nothing here has a destructor.
        unsafe {
            if ffi::luaL_getmetafield(state, 1, c"__name".as_ptr()) != ffi::LUA_TSTRING {
                ffi::lua_settop(state, 1);
                ffi::lua_pushnil(state);
            }
            ffi::lua_remove(state, 1);
        }
    };
    // SAFETY: `name` leaves one value, and raises no errors but for want of memory.
    unsafe { lua.exec_raw(value.clone(), name) }.ok().flatten()
}
