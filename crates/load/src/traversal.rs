//! `next` and `pairs` as scripts see them: C functions, as in plain Lua, so that errors name the function and the line as there.
//! The order in which tables are traversed is the business of a function of `prelude.lua`.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

/// `LUA_LOADED_TABLE`.
const LOADED: &str = "_LOADED";

/// `next`; `step` is given a table and a key (or nil), and gives what `next` does.
pub(crate) fn next(lua: &Lua, step: Function) -> mlua::Result<Function> {
    named(lua, "_G.next", step, checked_next)
}

/// `pairs`; `next` is what it gives for tables.
pub(crate) fn pairs(lua: &Lua, next: Function) -> mlua::Result<Function> {
    named(lua, "_G.pairs", next, checked_pairs)
}

/// The state's function of that name, which all scripts share. It stands among the loaded modules of the registry, where Lua looks
/// for the name of a function that no script's code called (`lauxlib.c`, `pushglobalfuncname`).
fn named(lua: &Lua, name: &str, upvalue: Function, function: ffi::lua_CFunction) -> mlua::Result<Function> {
    let loaded: Table = lua.named_registry_value(LOADED)?;
    if let Some(known) = loaded.raw_get(name)? {
        return Ok(known);
    }
    // SAFETY: takes the function on top of the stack, and leaves the closure there.
    let made: Function = unsafe { lua.exec_raw(upvalue, |state| ffi::lua_pushcclosure(state, function, 1))? };
    loaded.raw_set(name, &made)?;
    Ok(made)
}

/// Lua manual § 6.2, `next`.
unsafe extern "C-unwind" fn checked_next(state: *mut lua_State) -> c_int {
    // SAFETY: uses four stack slots of LUA_MINSTACK; nothing here has a destructor.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_settop(state, 2);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_insert(state, 1);
        ffi::lua_call(state, 2, ffi::LUA_MULTRET);
        ffi::lua_gettop(state)
    }
}

/// Lua manual § 6.2, `pairs`.
unsafe extern "C-unwind" fn checked_pairs(state: *mut lua_State) -> c_int {
    // SAFETY: uses a few stack slots of LUA_MINSTACK; nothing here has a destructor.
    unsafe {
        ffi::luaL_checkany(state, 1);
        if ffi::luaL_getmetafield(state, 1, c"__pairs".as_ptr()) != ffi::LUA_TNIL {
            ffi::lua_pushvalue(state, 1);
            ffi::lua_call(state, 1, 4);
            return 4;
        }
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_pushvalue(state, 1);
        // The first key, and the object to be closed at the end.
        ffi::lua_pushnil(state);
        ffi::lua_pushnil(state);
        4
    }
}
