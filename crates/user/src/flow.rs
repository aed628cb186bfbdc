//! Functions of flows, which are programs of their own in the kernel: their errors are told by themselves, and what called the table is told only
//! that there was one.

use std::cell::RefCell;
use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua};
use moonhook_load::FUNCTION_FAILED;

use crate::{RuntimeError, call, object, verdict};

thread_local! {
    /// The error that the last one had which failed.
    static FAILED: RefCell<Option<RuntimeError>> = const { RefCell::new(None) };
}

/// Flow tables call functions here.
pub(crate) fn register(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: the function takes any arguments.
    let call: Function = unsafe { lua.create_c_function(call_function) }?;
    lua.set_named_registry_value(moonhook_load::CALL_FUNCTION, call)
}

/// The error of a function that has failed since it was asked last.
pub(crate) fn take_failed() -> Option<RuntimeError> {
    FAILED.with(RefCell::take)
}

/// `(function, packet, arg)`: the number of the verdict that the function gives. Its error is kept, and another one raised.
unsafe extern "C-unwind" fn call_function(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls C functions with LUA_MINSTACK stack slots. What has a destructor is gone before Lua raises an error: `attempt` raises none
    // but for lack of memory, before there is such a thing.
    unsafe {
        ffi::lua_settop(state, 3);
        let status = attempt(state);
        if let Ok(verdict) = status {
            ffi::lua_pushinteger(state, verdict);
            return 1;
        }
        ffi::lua_pushlstring(state, FUNCTION_FAILED.as_ptr().cast(), FUNCTION_FAILED.len());
        ffi::lua_error(state)
    }
}

/// Calls the function at 1 with what follows; keeps its error.
unsafe fn attempt(state: *mut lua_State) -> Result<i64, ()> {
    // SAFETY: up to `lua_pcall` nothing here has a destructor, and after it nothing raises errors.
    unsafe {
        let depth = depth(state);
        call::push_describe(state);
        let (description, describe) = (4, 5);
        for index in 1..=3 {
            ffi::lua_pushvalue(state, index);
        }
        let failed = match ffi::lua_pcall(state, 2, 1, describe) {
            ffi::LUA_OK => match object::hook(state, 2) {
                None => return Ok(ffi::lua_tointeger(state, -1)),
                Some(hook) => match verdict::at_top(state, hook) {
                    Ok(verdict) => return Ok(verdict.into()),
                    Err(other) => call::bare(other.message()),
                },
            },
            ffi::LUA_ERRRUN => call::error(state, description, depth),
            _ => call::bare(call::text(state)),
        };
        FAILED.with(|last| last.replace(Some(failed)));
        Err(())
    }
}

/// How many functions are being called.
unsafe fn depth(state: *mut lua_State) -> usize {
    // SAFETY: `lua_getstack` fills in the record for levels that there are, and reads the stack only.
    unsafe {
        let mut record = std::mem::zeroed();
        (0..).take_while(|level| ffi::lua_getstack(state, *level, &raw mut record) == 1).count()
    }
}
