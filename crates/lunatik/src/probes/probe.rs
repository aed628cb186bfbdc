//! A probe: how often its handlers are to be called.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::endings::Ending;
use crate::probes::agenda::Agenda;
use crate::probes::counting::Counted;

/// The names of handlers: of what begins, and of what returns.
pub(crate) const HANDLERS: [&str; 2] = ["pre", "post"];

/// One handler's part of a probe.
pub(crate) struct Side {
    /// Its name.
    pub handler: &'static str,
    pub counted: Counted,
    /// The count's number.
    pub number: u32,
    /// The count up to which calls are owed, or were made; `None` while the probe is disabled.
    seen: Mutex<Option<u64>>,
    owed: AtomicU64,
}

impl Side {
    /// Calls are owed from the count `seen` on.
    pub fn new(handler: &'static str, (counted, number): (Counted, u32), seen: u64) -> Side {
        Side { handler, counted, number, seen: Mutex::new(Some(seen)), owed: AtomicU64::new(0) }
    }

    /// The count is that now; says whether calls are owed by that.
    pub fn look(&self, count: u64) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = *seen else { return false };
        *seen = Some(count.max(before));
        let more = count.saturating_sub(before);
        self.owed.fetch_add(more, Ordering::Relaxed);
        more > 0
    }

    /// Goes on at a count, or not at all.
    pub fn set_seen(&self, count: Option<u64>) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = count;
    }

    pub fn is_counted(&self) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub fn owes(&self) -> bool {
        self.owed.load(Ordering::Relaxed) > 0
    }

    /// Calls that are to be made now.
    pub fn take_owed(&self) -> u64 {
        self.owed.swap(0, Ordering::Relaxed)
    }

    /// Calls that were not made.
    pub fn give_back(&self, calls: u64) {
        self.owed.fetch_add(calls, Ordering::Relaxed);
    }
}

/// A probe of a script.
pub(crate) struct Probe {
    pub sides: Vec<Side>,
    pub agenda: Arc<Agenda>,
    /// The number of what calls its handlers, among what the state keeps.
    pub caller: u64,
    is_stopped: Arc<AtomicBool>,
    is_calling: AtomicBool,
}

/// Handlers of a probe are being called.
pub(crate) struct Calling<'a>(&'a AtomicBool);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Probe {
    /// `is_stopped` is known to what calls the handlers.
    pub fn new(sides: Vec<Side>, agenda: &Arc<Agenda>, caller: u64, is_stopped: Arc<AtomicBool>) -> Probe {
        let is_calling = AtomicBool::new(false);
        Probe { sides, agenda: Arc::clone(agenda), caller, is_stopped, is_calling }
    }

    /// Handlers are called from now on; `None` where they are already.
    pub fn begin_calls(&self) -> Option<Calling<'_>> {
        (!self.is_calling.swap(true, Ordering::Relaxed)).then_some(Calling(&self.is_calling))
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub fn owes(&self) -> bool {
        !self.is_stopped() && self.sides.iter().any(Side::owes)
    }
}

impl Ending for Probe {
    fn end(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}
