//! The step budget: how long handlers may run for one frame.
//!
//! A step of this tier is one instruction of Lua's virtual machine (Lua manual § 4.7, count hook). The kernel tier counts
//! loop iterations and bytes walked by general routines instead, so the two run out at different places; what they share
//! is that an endless loop ends, with `step budget exhausted`, an error without position. Time inside one C function
//! (a pattern match over a long string) is not counted here.

use std::cell::Cell;
use std::ffi::c_int;

use mlua::ffi::{self, lua_Debug, lua_State};

/// Instructions between two looks at the budget: what a coroutine can use before it is counted.
const INTERVAL: u64 = 100;

thread_local! {
    /// What is left for the frame that this thread runs.
    static REMAINING: Cell<u64> = const { Cell::new(0) };
}

/// A hook that the state had before.
pub(crate) struct Before {
    hook: Option<ffi::lua_Hook>,
    mask: c_int,
    count: c_int,
}

/// Starts counting down from `budget` in this thread; coroutines made from now on are counted too.
///
/// # Safety
/// The state is alive and belongs to this thread.
pub(crate) unsafe fn start(state: *mut lua_State, budget: u64) -> Before {
    REMAINING.set(budget);
    // SAFETY: the caller's promise; `count` keeps to what hooks may do.
    unsafe {
        let before = Before {
            hook: ffi::lua_gethook(state),
            mask: ffi::lua_gethookmask(state),
            count: ffi::lua_gethookcount(state),
        };
        ffi::lua_sethook(state, Some(count), ffi::LUA_MASKCOUNT, INTERVAL.min(budget.max(1)) as c_int);
        before
    }
}

/// Ends counting.
///
/// # Safety
/// As for [`start`]; `before` is what it gave for this state.
pub(crate) unsafe fn stop(state: *mut lua_State, before: Before) {
    // SAFETY: the caller's promise.
    unsafe { ffi::lua_sethook(state, before.hook, before.mask, before.count) }
}

/// What the last frame of this thread left of its budget.
pub(crate) fn remaining() -> u64 {
    REMAINING.get()
}

/// Once the budget is spent, every further instruction fails, so that a script that catches the error gets no further.
unsafe extern "C-unwind" fn count(state: *mut lua_State, _: *mut lua_Debug) {
    // SAFETY: Lua calls hooks with LUA_MINSTACK stack slots; nothing with a destructor is alive when the error is raised.
    unsafe {
        let passed = ffi::lua_gethookcount(state).max(1) as u64;
        let remaining = REMAINING.get().saturating_sub(passed);
        REMAINING.set(remaining);
        if remaining > 0 {
            return;
        }
        ffi::lua_sethook(state, Some(count), ffi::LUA_MASKCOUNT, 1);
        ffi::lua_pushstring(state, c"step budget exhausted".as_ptr());
        ffi::lua_error(state)
    }
}
