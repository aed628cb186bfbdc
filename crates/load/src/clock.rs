//! What time it is for scripts and handlers in real Lua: what it is, or what whoever runs them says, on this thread.

use std::cell::Cell;

use nix::time::{ClockId, clock_gettime};

/// A moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since 1970, as `linux.time` gives it.
    pub since_epoch: i64,
    /// Of a clock that never goes back, which lifetimes are counted by.
    pub monotonic: i64,
}

thread_local! {
    static GIVEN: Cell<Option<Moment>> = const { Cell::new(None) };
}

/// From now on it is this moment for all states of this thread; `None`: what it is.
pub fn set_time(moment: Option<Moment>) {
    GIVEN.set(moment);
}

/// By `CLOCK_TAI`, the one of the clocks of the epoch which programs in the kernel can read, and `CLOCK_MONOTONIC`.
///
/// # Errors
/// Where the system has no such clock.
pub fn time() -> nix::Result<Moment> {
    if let Some(given) = GIVEN.get() {
        return Ok(given);
    }
    let nanoseconds = |clock| {
        let now = clock_gettime(clock)?;
        Ok(now.tv_sec().wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec()))
    };
    Ok(Moment {
        since_epoch: nanoseconds(ClockId::CLOCK_TAI)?,
        monotonic: nanoseconds(ClockId::CLOCK_MONOTONIC)?,
    })
}
