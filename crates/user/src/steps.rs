//! The step budget: how long handlers may run for one frame.
//!
//! A step of this tier is one instruction of Lua's virtual machine (Lua manual § 4.7, count hook). The kernel tier counts
//! loop iterations and bytes walked by general routines instead, so the two run out at different places; what they share
//! is that an endless loop ends, with `step budget exhausted`, an error without position. Lines of chains are steps, too. Time inside
//! one C function (a pattern match over a long string) is not counted here.
//!
//! What ends a packet cannot be caught: each further instruction fails again, and handlers of `xpcall` are not called, because to Lua it is the
//! error of memory that ran out.

use std::cell::Cell;
use std::ffi::c_int;

use mlua::Lua;
use mlua::ffi::{self, lua_Debug, lua_State};

/// The message of the error by which the budget ends a packet.
pub(crate) const EXHAUSTED: &[u8] = b"step budget exhausted";

/// Instructions between two looks at the budget: what a coroutine can use before it is counted.
const INTERVAL: u64 = 100;

thread_local! {
    /// What is left for the frame that this thread runs.
    static REMAINING: Cell<u64> = const { Cell::new(0) };
    /// No further instruction is to run for that frame.
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
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
    IS_OVER.set(false);
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

/// Takes one step off the budget; whether there was one more.
pub(crate) fn spend() -> bool {
    REMAINING.set(REMAINING.get().saturating_sub(1));
    !are_spent()
}

/// Whether nothing is left of the budget.
pub(crate) fn are_spent() -> bool {
    REMAINING.get() == 0
}

/// Lets no further instruction run for the frame. Who calls this raises the error [`moonhook_load::OVER`].
pub(crate) fn end(lua: &Lua) -> mlua::Result<()> {
    IS_OVER.set(true);
    // SAFETY: `count` keeps to what hooks may do; the hook is that of the thread which is running, and `stop` takes it away.
    unsafe { lua.exec_raw((), |state| ffi::lua_sethook(state, Some(count), ffi::LUA_MASKCOUNT, 1)) }
}

/// Once the budget is spent, every further instruction fails, so that a script that catches the error gets no further.
unsafe extern "C-unwind" fn count(state: *mut lua_State, _: *mut lua_Debug) {
    // SAFETY: Lua calls hooks with LUA_MINSTACK stack slots; nothing with a destructor is alive when the error is raised.
    unsafe {
        let passed = ffi::lua_gethookcount(state).max(1) as u64;
        let remaining = REMAINING.get().saturating_sub(passed);
        REMAINING.set(remaining);
        let is_over = IS_OVER.get();
        if remaining > 0 && !is_over {
            return;
        }
        ffi::lua_sethook(state, Some(count), ffi::LUA_MASKCOUNT, 1);
        let message: &[u8] = if is_over { moonhook_load::OVER.as_bytes() } else { EXHAUSTED };
        ffi::lua_pushlstring(state, message.as_ptr().cast(), message.len());
        ffi::lua_error(state)
    }
}
