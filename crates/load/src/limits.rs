//! Limits on instructions and on time: a count hook that stops a script that does not finish.
//!
//! Reads nothing but the running thread and the clock; adds a hook to it, which coroutines that it makes inherit. Guarantees
//! that a script stops within about [`INTERVAL`] instructions of its limit even if it catches errors. Time spent inside one C
//! function (a pattern match, a sort) is not counted. Memory is limited by `mlua`.

use std::ffi::{c_int, c_void};

use std::time::Duration;

use mlua::{Lua, Thread, ffi};
use nix::time::{ClockId, clock_gettime};

/// Instructions between two looks at the budget.
const INTERVAL: c_int = 1000;

/// Its address is the key of the budget in the registry.
static KEY: u8 = 0;

struct Budget {
    remaining: u64,
    /// When time is up, on the clock of [`processor_time`].
    deadline: Option<Duration>,
    exhausted: bool,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.remaining == 0 || self.deadline.is_some_and(|deadline| processor_time() >= deadline)
    }
}

/// The time that this thread has run on a processor: waiting for one does not count.
pub(crate) fn processor_time() -> Duration {
    // The clock is there on every Linux (clock_gettime(2)).
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The instruction budget of a Lua state. It lives in that state as a userdata.
pub(crate) struct Meter {
    /// Keeps the budget alive.
    _lua: Lua,
    budget: *mut Budget,
}

fn key() -> *const c_void {
    (&raw const KEY).cast()
}

impl Meter {
    /// A budget of `limit` instructions, for all threads given to [`Meter::watch`].
    pub fn new(lua: &Lua, limit: u64) -> mlua::Result<Meter> {
        let mut budget = std::ptr::null_mut();
        // SAFETY: the closure uses three stack slots, which `exec_raw` provides, and owns nothing that an error would
        // leak. The userdata is anchored in the registry, so it lives as long as the state.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                budget = ffi::lua_newuserdatauv(state, size_of::<Budget>(), 0).cast::<Budget>();
                budget.write(Budget { remaining: limit, deadline: None, exhausted: false });
                ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, key());
            })?;
        }
        Ok(Meter { _lua: lua.clone(), budget })
    }

    /// Counts the instructions of `thread` and of the coroutines it makes.
    pub fn watch(&self, thread: &Thread) {
        // SAFETY: the thread is alive and not running; `count` is a hook function that finds its budget by itself.
        unsafe { ffi::lua_sethook(thread.state(), Some(count), ffi::LUA_MASKCOUNT, INTERVAL) }
    }

    pub fn is_exhausted(&self) -> bool {
        // SAFETY: `self._lua` keeps the state and with it the registry's userdata alive; no hook runs now.
        unsafe { (*self.budget).exhausted }
    }

    /// From now on all threads have the time until `deadline` on the clock of [`processor_time`], if there is one, and any number of instructions.
    pub fn limit_time(&self, deadline: Option<Duration>) {
        // SAFETY: as in `is_exhausted`.
        unsafe { self.budget.write(Budget { remaining: u64::MAX, deadline, exhausted: false }) }
    }
}

/// The hook. Once the budget is spent it raises an error at every instruction, so that code that catches errors gets no
/// further, and forbids allocation, so that no coroutine with a fresh count can be made. The error value needs no memory.
unsafe extern "C-unwind" fn count(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: Lua calls hooks with stack space for C functions (LUA_MINSTACK); the registry has the budget that
    // `Meter::new` put there. Nothing with a destructor is alive when `lua_error` jumps.
    unsafe {
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key());
        let budget = ffi::lua_touserdata(state, -1).cast::<Budget>();
        ffi::lua_pop(state, 1);
        if budget.is_null() {
            return;
        }
        (*budget).remaining = (*budget).remaining.saturating_sub(INTERVAL as u64);
        if !(*budget).exhausted && !(*budget).is_spent() {
            return;
        }
        if !(*budget).exhausted {
            (*budget).exhausted = true;
            forbid_allocation(state);
        }
        ffi::lua_sethook(state, Some(count), ffi::LUA_MASKCOUNT, 1);
        ffi::lua_pushlightuserdata(state, key().cast_mut());
        ffi::lua_error(state)
    }
}

/// Lifted by the load stage, which sets the limit again when the script has ended.
unsafe fn forbid_allocation(state: *mut ffi::lua_State) {
    // SAFETY: the state belongs to a live `Lua`, so this finds it and makes nothing new.
    let lua = unsafe { Lua::get_or_init_from_ptr(state) };
    // Fails only for states that mlua did not make, which these are not.
    let _ = lua.set_memory_limit(1);
}
