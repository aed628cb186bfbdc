//! The memory that all states of runtimes have together, with the buffers that scripts make: so a script that makes more and more of them is told
//! that there is no memory, and the machine goes on.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mlua::{Lua, WeakLua, ffi};

/// Bytes that may be taken, by whatever thread.
pub(crate) struct Pool {
    /// 0: any number.
    limit: usize,
    used: AtomicUsize,
}

impl Pool {
    pub fn new(limit: usize) -> Arc<Pool> {
        Arc::new(Pool { limit, used: AtomicUsize::new(0) })
    }

    /// Takes bytes; says whether there were as many.
    fn take(&self, bytes: usize) -> bool {
        let more =
            |used: usize| used.checked_add(bytes).filter(|used| self.limit == 0 || *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes of a pool that something has until it is dropped.
pub(crate) struct Part {
    pool: Arc<Pool>,
    bytes: usize,
}

impl Part {
    /// `None` if there are not as many.
    pub fn of(pool: &Arc<Pool>, bytes: usize) -> Option<Part> {
        pool.take(bytes).then(|| Part { pool: Arc::clone(pool), bytes })
    }

    /// Has so many bytes from now on; nothing has changed if there are not as many.
    pub fn resize(&mut self, bytes: usize) -> bool {
        if !self.pool.take(bytes.saturating_sub(self.bytes)) {
            return false;
        }
        self.pool.give(self.bytes.saturating_sub(bytes));
        self.bytes = bytes;
        true
    }
}

/// Tries to have something of the pool, and again when `lua` has let go of what it can: objects that are garbage may have large buffers, of which
/// the collector does not know. Finalizers run in between.
pub(crate) fn with_room<R>(lua: &Lua, mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
    attempt().or_else(|| {
        collect(lua);
        attempt()
    })
}

/// Has the collector find all garbage, also what is so by finalizers.
pub(crate) fn collect(lua: &Lua) {
    // An error is that there is no memory, as the next attempt finds.
    let _ = lua.gc_collect().and_then(|()| lua.gc_collect());
}

impl Drop for Part {
    fn drop(&mut self) {
        self.pool.give(self.bytes);
    }
}

/// What a state allocates is of a pool. To be dropped behind the state: long strings know by themselves who has allocated them (Lua 5.5,
/// `lua_pushexternalstring`).
pub(crate) struct Metered {
    lua: WeakLua,
    /// What Lua has the address of.
    meter: *mut Meter,
}

struct Meter {
    allocate: ffi::lua_Alloc,
    own: *mut c_void,
    pool: Arc<Pool>,
    used: usize,
}

impl Metered {
    /// From now on; the limit of `lua` by itself cannot be set meanwhile. `None` if the pool has not as much as is used already.
    pub fn new(lua: &Lua, pool: &Arc<Pool>) -> mlua::Result<Option<Metered>> {
        let used = lua.used_memory();
        if !pool.take(used) {
            return Ok(None);
        }
        let mut meter = std::ptr::null_mut();
        // SAFETY: the allocator is replaced by one that calls it; which has what it needs until the state is gone.
        let replaced = unsafe {
            lua.exec_raw::<()>((), |state| {
                let mut own = std::ptr::null_mut();
                let allocate = ffi::lua_getallocf(state, &mut own);
                meter = Box::into_raw(Box::new(Meter { allocate, own, pool: Arc::clone(pool), used }));
                ffi::lua_setallocf(state, metered, meter.cast());
            })
        };
        if let Err(error) = replaced {
            pool.give(used);
            return Err(error);
        }
        Ok(Some(Metered { lua: lua.weak(), meter }))
    }

    /// Puts the state's own allocator back, which mlua looks for at the end.
    pub fn end(&self) {
        let Some(lua) = self.lua.try_upgrade() else { return };
        let meter = self.meter;
        // SAFETY: the meter is that of `Metered::new`, and there as long as `self`.
        let outcome = unsafe {
            lua.exec_raw::<()>((), |state| ffi::lua_setallocf(state, (*meter).allocate, (*meter).own))
        };
        // It needs no memory that is not there; if it failed, mlua would not free a few bytes of its own.
        drop(outcome);
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        // A state that somebody has still goes on with it.
        if self.lua.try_upgrade().is_none() {
            // SAFETY: the state is gone, and with it whoever had the address.
            let meter = unsafe { Box::from_raw(self.meter) };
            meter.pool.give(meter.used);
        }
    }
}

/// The allocator (`lua_Alloc`, Lua manual § 4.6): a state's own one, for as much as the pool has.
unsafe extern "C" fn metered(meter: *mut c_void, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
    // SAFETY: Lua gives what `Metered::new` has given it, on the state's only thread.
    let meter = unsafe { &mut *meter.cast::<Meter>() };
    // Of a block that is new, the size tells its kind.
    let old_size = if block.is_null() { 0 } else { old };
    let more = new.saturating_sub(old_size);
    if more > 0 && !meter.pool.take(more) {
        return std::ptr::null_mut();
    }
    // SAFETY: as Lua has called this one.
    let given = unsafe { (meter.allocate)(meter.own, block, old, new) };
    if given.is_null() && new > 0 {
        meter.pool.give(more);
        return given;
    }
    let less = old_size.saturating_sub(new);
    meter.pool.give(less);
    meter.used = meter.used + more - less;
    given
}
