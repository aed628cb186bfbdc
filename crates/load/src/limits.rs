//! Limits on instructions and on time: a count hook that stops a script that does not finish.
//!
//! Reads nothing but the running thread and the clocks; adds a hook to it, which coroutines that it makes inherit. Guarantees
//! that a script stops within about [`INTERVAL`] instructions of its limit even if it catches errors. Time inside library functions
//! counts too: those that can take any time ask first ([`crate::guards`]), what the others take is counted when the hook runs
//! next. Memory is limited by `mlua`.

use std::ffi::{c_int, c_void};

use std::time::{Duration, Instant};

use mlua::{Lua, Thread, ffi};
use nix::time::{ClockId, clock_gettime};

use crate::effort::Allowance;

/// Instructions between two looks at the budget.
const INTERVAL: c_int = 1000;

/// As long as no instruction takes on the average, on a processor: what takes longer is library functions at work.
pub(crate) const INSTRUCTION: Duration = Duration::from_nanos(50);

/// 20 ms.
const GRACE: u64 = 400_000;

/// As long as a step of a library function takes at least.
const STEP: Duration = Duration::from_nanos(1);

/// Its address is the key of the budget in the registry.
static KEY: u8 = 0;

/// How many times as long as on a processor a function may take by the clock: processors are shared, and whoever waits for the
/// function is to get an answer.
const CROWDED: u32 = 2;

/// The part of its time that a function has on a processor before the clock counts: a process that was halted goes on.
const LEAST: u32 = 10;

/// When time is up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// On the clock of [`processor_time`].
    processor: Duration,
    /// Whatever share of a processor there was, if it was as much as `least` on its clock.
    clock: Instant,
    least: Duration,
}

impl Deadline {
    /// When a function that begins now has run for `limit`; `None` if that is never.
    pub fn after(limit: Duration) -> Option<Deadline> {
        Deadline::from(processor_time(), Instant::now(), limit)
    }

    fn from(processor: Duration, clock: Instant, limit: Duration) -> Option<Deadline> {
        Some(Deadline {
            processor: processor.checked_add(limit)?,
            clock: clock.checked_add(limit.checked_mul(CROWDED)?)?,
            least: processor + limit / LEAST,
        })
    }

    fn is_over(&self, processor: Duration, clock: Instant) -> bool {
        processor >= self.processor || processor >= self.least && clock >= self.clock
    }

    /// When half of the time that is left is over.
    fn half(&self, processor: Duration, clock: Instant) -> Deadline {
        Deadline {
            processor: processor + self.processor.saturating_sub(processor) / 2,
            clock: clock + self.clock.saturating_duration_since(clock) / 2,
            ..*self
        }
    }

    fn has_come(&self) -> bool {
        self.is_over(processor_time(), Instant::now())
    }
}

/// What a state may still use.
pub(crate) struct Budget {
    remaining: u64,
    deadline: Option<Deadline>,
    exhausted: bool,
    /// When time was looked at, on two clocks of which the first costs little, and the instructions since the second.
    looked: Instant,
    measured: Duration,
    counted: u64,
    /// Of the time of library functions, so many steps are not counted: collections of garbage and pages that have to be fetched take some, which is
    /// no fault of the function's.
    grace: u64,
}

impl Budget {
    fn new(remaining: u64, deadline: Option<Deadline>) -> Budget {
        let (looked, measured) = (Instant::now(), processor_time());
        Budget { remaining, deadline, exhausted: false, looked, measured, counted: 0, grace: GRACE }
    }

    /// Whether anything is limited.
    pub fn is_limited(&self) -> bool {
        self.remaining != u64::MAX || self.deadline.is_some()
    }

    fn is_spent(&self) -> bool {
        self.remaining == 0 || self.deadline.is_some_and(|deadline| deadline.has_come())
    }

    /// Counts the instructions of an interval. Library functions that they called count as the instructions that would have
    /// taken as long.
    fn count_interval(&mut self) {
        if self.remaining == u64::MAX {
            return;
        }
        let instructions = INTERVAL as u64;
        self.counted += instructions;
        let mut steps = instructions;
        let now = Instant::now();
        if now.duration_since(self.looked) > INSTRUCTION * INTERVAL as u32 {
            let measured = processor_time();
            let took = measured.saturating_sub(self.measured).as_nanos() / INSTRUCTION.as_nanos();
            let beyond = u64::try_from(took).unwrap_or(u64::MAX).saturating_sub(self.counted);
            let free = beyond.min(self.grace);
            self.grace -= free;
            steps += beyond - free;
            (self.measured, self.counted) = (measured, 0);
        }
        self.looked = now;
        self.remaining = self.remaining.saturating_sub(steps);
    }

    /// Takes so many steps of a library function; false where there is no room for them.
    pub fn take(&mut self, steps: u64) -> bool {
        if self.remaining != u64::MAX {
            let enough = steps < self.remaining;
            self.remaining = self.remaining.saturating_sub(steps);
            return enough;
        }
        let Some(deadline) = self.deadline else { return true };
        let time = Duration::from_nanos(steps).saturating_mul(STEP.as_nanos() as u32);
        !deadline.is_over(processor_time().saturating_add(time), Instant::now())
    }

    /// Has the steps of a call counted that takes as long again; false if it takes more than there is.
    pub fn meter(&mut self, count: impl FnOnce(&mut dyn Allowance) -> Option<u64>) -> bool {
        let half = self.deadline.map(|deadline| deadline.half(processor_time(), Instant::now()));
        let steps = count(&mut Room { steps: self.remaining, until: half });
        match steps {
            Some(steps) if self.remaining != u64::MAX => {
                self.remaining = self.remaining.saturating_sub(steps);
                true
            }
            steps => steps.is_some(),
        }
    }
}

/// What a count may use.
struct Room {
    steps: u64,
    until: Option<Deadline>,
}

impl Allowance for Room {
    fn allows(&mut self, steps: u64) -> bool {
        steps < self.steps && self.until.is_none_or(|until| !until.has_come())
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
                budget.write(Budget::new(limit, None));
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

    /// From now on all threads have so many instructions, and any time.
    pub fn limit_steps(&self, steps: u64) {
        // SAFETY: as in `is_exhausted`.
        unsafe { self.budget.write(Budget::new(steps, None)) }
    }

    /// From now on all threads have the time until `deadline`, if there is one, and any number of instructions.
    pub fn limit_time(&self, deadline: Option<Deadline>) {
        // SAFETY: as in `is_exhausted`.
        unsafe { self.budget.write(Budget::new(u64::MAX, deadline)) }
    }
}

/// The budget of a state; null where there is none.
///
/// # Safety
/// The state is alive, and has two stack slots.
pub(crate) unsafe fn budget(state: *mut ffi::lua_State) -> *mut Budget {
    // SAFETY: the registry has the userdata that `Meter::new` put there, or nil.
    unsafe {
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key());
        let budget = ffi::lua_touserdata(state, -1).cast::<Budget>();
        ffi::lua_pop(state, 1);
        budget
    }
}

/// The hook.
unsafe extern "C-unwind" fn count(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: Lua calls hooks with stack space for C functions (LUA_MINSTACK). Nothing with a destructor is alive when an error
    // is raised.
    unsafe {
        let Some(budget) = budget(state).as_mut() else { return };
        budget.count_interval();
        if budget.exhausted || budget.is_spent() {
            exhaust(state, budget)
        }
    }
}

/// Ends what runs. Once the budget is spent an error is raised at every instruction, so that code that catches errors gets no
/// further, and allocation is forbidden, so that no coroutine with a fresh count can be made. The error value needs no memory.
///
/// # Safety
/// The state is running, has two stack slots, and nothing with a destructor is alive: this jumps.
pub(crate) unsafe fn exhaust(state: *mut ffi::lua_State, budget: &mut Budget) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        if !budget.exhausted {
            budget.exhausted = true;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the processor for that long.
    fn work(time: Duration) {
        let end = processor_time() + time;
        while processor_time() < end {}
    }

    #[test]
    fn time_of_library_functions_counts_once_it_is_long() {
        let mut budget = Budget::new(10_000_000, None);
        work(Duration::from_millis(5));
        budget.count_interval();
        assert_eq!(budget.remaining, 10_000_000 - INTERVAL as u64);
        work(Duration::from_millis(40));
        budget.count_interval();
        let steps = 10_000_000 - budget.remaining;
        assert!(steps > 400_000, "{steps}");
        work(Duration::from_millis(10));
        budget.count_interval();
        assert!(10_000_000 - budget.remaining > steps + 150_000, "{steps}, {}", budget.remaining);
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// On a machine where there is little of a processor to be had, too, whoever waits gets an answer in bounded time.
    #[test]
    fn time_is_up_on_a_processor_or_by_the_clock() {
        let (processor, clock) = (7 * SECOND, Instant::now());
        let deadline = Deadline::from(processor, clock, 10 * SECOND).unwrap();
        for (used, passed, over) in
            [(9, 9, false), (9, 19, false), (10, 10, true), (3, 19, false), (3, 20, true), (1, 20, true)]
        {
            let is_over = deadline.is_over(processor + used * SECOND, clock + passed * SECOND);
            assert_eq!(is_over, over, "{used} s of a processor, {passed} s by the clock");
        }
        // Halted for an hour: it goes on.
        assert!(!deadline.is_over(processor + SECOND / 2, clock + 3600 * SECOND));
        let half = deadline.half(processor + 2 * SECOND, clock + 10 * SECOND);
        for (used, passed, over) in [(5, 14, false), (6, 14, true), (5, 15, true)] {
            let is_over = half.is_over(processor + used * SECOND, clock + passed * SECOND);
            assert_eq!(is_over, over, "half: {used} s of a processor, {passed} s by the clock");
        }
        assert!(Deadline::from(processor, clock, Duration::MAX).is_none());
    }
}
