//! One call of one handler.
//!
//! Makes the packet and `arg`, calls the handler under a message handler that takes the traceback, copies the frame back
//! and ends the two objects, whatever the handler did.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua};

use crate::metadata::Metadata;
use crate::{RuntimeError, object, steps, verdict};
use moonhook_hook::Hook;

/// The verdict of `handler` about `frame`, which it may change, and which stays changed also after an error. `budget`
/// loses the steps that were used.
pub(crate) fn call(
    lua: &Lua,
    (handler, hook): (&Function, &'static Hook),
    (frame, metadata): (&mut Vec<u8>, &mut Metadata),
    budget: &mut u64,
) -> Result<i32, RuntimeError> {
    let mut result = None;
    // SAFETY: `exec_raw` calls the closure under Lua's protection, with the handler on top of the stack. Nothing with a
    // destructor is alive where Lua may raise an error: `protected` catches the handler's own, and what it gives is
    // stored by the last statement.
    let outside = unsafe {
        lua.exec_raw::<()>(handler, |state| {
            let before = steps::start(state, *budget);
            let ended = protected(state, hook, (frame, metadata));
            steps::stop(state, before);
            *budget = steps::remaining();
            result = Some(ended);
        })
    };
    match (outside, result) {
        // The budget has ended lines of a chain.
        (Ok(()), Some(Err(error)))
            if error.message == moonhook_load::OVER.as_bytes() && steps::are_spent() =>
        {
            Err(RuntimeError { message: steps::EXHAUSTED.to_vec(), ..error })
        }
        (Ok(()), Some(result)) => result,
        (Err(error), _) => Err(bare(error.to_string())),
        (Ok(()), None) => Err(bare("the handler was not called")),
    }
}

pub(crate) fn bare(message: impl Into<Vec<u8>>) -> RuntimeError {
    RuntimeError { message: message.into(), traceback: Vec::new() }
}

/// Calls the function on top of the stack.
unsafe fn protected(
    state: *mut lua_State,
    hook: &'static Hook,
    (frame, metadata): (&mut Vec<u8>, &mut Metadata),
) -> Result<i32, RuntimeError> {
    // SAFETY: the stack has room for what is pushed; up to `lua_pcall` nothing here has a destructor, and after it
    // nothing raises errors.
    unsafe {
        let handler = ffi::lua_gettop(state);
        ffi::luaL_checkstack(state, 8, std::ptr::null());
        push_describe(state);
        let description = handler + 1;
        object::push_packet(state, hook, frame, *metadata);
        object::push_argument(state);
        let (describe, packet, argument) = (handler + 2, handler + 3, handler + 4);
        for index in [handler, packet, argument] {
            ffi::lua_pushvalue(state, index);
        }
        let status = ffi::lua_pcall(state, 2, 1, describe);
        frame.clear();
        frame.extend_from_slice(object::bytes(state, packet));
        *metadata = object::metadata(state, packet);
        object::expire(state, packet);
        object::expire(state, argument);
        match status {
            ffi::LUA_OK => verdict::at_top(state, hook).map_err(|other| bare(other.message())),
            ffi::LUA_ERRRUN => Err(error(state, description, 0)),
            // Errors that are not given to message handlers (no memory) or that came up in one (stack overflow).
            _ => Err(bare(text(state))),
        }
    }
}

/// Pushes a table and a message handler that puts into it what there is to know of an error.
pub(crate) unsafe fn push_describe(state: *mut lua_State) {
    // SAFETY: the caller has room for two values.
    unsafe {
        ffi::lua_createtable(state, 2, 0);
        ffi::lua_pushvalue(state, -1);
        ffi::lua_pushcclosure(state, describe, 1);
    }
}

/// The message handler: puts message and traceback into the table that is its upvalue, and leaves the error value as it is,
/// for that is what `__close` metamethods are given next. Words a value that is not a string as the standalone interpreter
/// does (`lua.c`, `msghandler`). An error of a `__close` metamethod takes the place of what was noted before.
unsafe extern "C-unwind" fn describe(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls C functions with LUA_MINSTACK stack slots; nothing here has a destructor.
    unsafe {
        ffi::lua_settop(state, 1);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        if ffi::lua_isstring(state, 1) != 0 {
            ffi::lua_pushvalue(state, 1);
        } else if ffi::luaL_callmeta(state, 1, c"__tostring".as_ptr()) == 0
            || ffi::lua_type(state, -1) != ffi::LUA_TSTRING
        {
            let name = ffi::lua_typename(state, ffi::lua_type(state, 1));
            ffi::lua_pushfstring(state, c"(error object is a %s value)".as_ptr(), name);
        }
        ffi::lua_tolstring(state, -1, std::ptr::null_mut());
        ffi::lua_rawseti(state, 2, 1);
        ffi::luaL_traceback(state, state, std::ptr::null(), 1);
        ffi::lua_rawseti(state, 2, 2);
        ffi::lua_settop(state, 1);
        1
    }
}

/// What `describe` put into the table at `description`, of an error in functions that were called where `depth` others were being called already.
pub(crate) unsafe fn error(state: *mut lua_State, description: c_int, depth: usize) -> RuntimeError {
    // SAFETY: raw accesses, which raise no errors; the strings are copied while they are on the stack.
    unsafe {
        ffi::lua_rawgeti(state, description, 1);
        let message = text(state);
        ffi::lua_rawgeti(state, description, 2);
        RuntimeError { message, traceback: frames(&String::from_utf8_lossy(&text(state)), depth) }
    }
}

/// The string on top of the stack.
pub(crate) unsafe fn text(state: *mut lua_State) -> Vec<u8> {
    // SAFETY: a string on the stack is not collected; only strings are read, so nothing is converted in place.
    unsafe {
        if ffi::lua_type(state, -1) != ffi::LUA_TSTRING {
            return b"(error object is not a string)".to_vec();
        }
        let mut length = 0;
        let start = ffi::lua_tolstring(state, -1, &mut length);
        std::slice::from_raw_parts(start.cast(), length).to_vec()
    }
}

/// Functions of our own modules have no source.
fn is_ours(call: &str) -> bool {
    call.starts_with("?: ")
}

/// The entries of `luaL_traceback`'s text, without its title, the last `below` and our own frame below the handler.
fn frames(traceback: &str, below: usize) -> Vec<String> {
    let count = traceback.lines().count().saturating_sub(below);
    let mut frames: Vec<String> = traceback
        .lines()
        .take(count)
        .skip(1)
        .map(str::trim_start)
        .filter(|line| !is_ours(line))
        .map(str::to_owned)
        .collect();
    if frames.last().is_some_and(|last| last == "[C]: in ?") {
        frames.pop();
    }
    frames
}
