//! What a state owes to its probes: calls of handlers, made there when nothing else is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use mlua::{Function, Lua};

use crate::probes::probe::{Probe, Side};

/// How long handlers are called before others have their turn in the state.
const TURN: Duration = Duration::from_millis(20);

/// How long a stop waits for handlers of what has happened before it.
const LAST_TURN: Duration = Duration::from_millis(300);

/// Has something done in a state, when nothing else is; says whether the state is there still.
type Caller = Arc<dyn Fn(Box<dyn FnOnce(&Lua) + Send>) -> bool + Send + Sync>;

/// What an agenda needs of its state.
pub(crate) struct Surroundings {
    pub caller: Caller,
    /// What calls the handlers of a probe, by the number that the state has for it.
    pub kept: fn(&Lua, u64) -> Option<Function>,
    /// Gets what goes wrong.
    pub warn: Box<dyn Fn(mlua::Error) + Send + Sync>,
}

/// The probes of a state.
pub(crate) struct Agenda {
    state: Surroundings,
    /// The state has been told that something is owed.
    is_told: AtomicBool,
    probes: Mutex<Probes>,
    /// When the turn is over.
    end: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Probes {
    all: Vec<Weak<Probe>>,
    /// Whose turn is next.
    next: usize,
}

impl Agenda {
    pub fn new(state: Surroundings) -> Arc<Agenda> {
        let (is_told, probes, end) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        Arc::new(Agenda { state, is_told, probes, end })
    }

    pub fn add(&self, probe: &Arc<Probe>) {
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        probes.all.retain(|probe| probe.strong_count() > 0);
        probes.all.push(Arc::downgrade(probe));
    }

    /// Something is owed: the state sees to it.
    pub fn tell(self: &Arc<Agenda>) {
        if self.is_told.swap(true, Ordering::AcqRel) {
            return;
        }
        let own = Arc::clone(self);
        // A state that is over owes nothing.
        (self.state.caller)(Box::new(move |lua| own.work(lua)));
    }

    /// Calls what is owed, for a turn.
    fn work(self: &Arc<Agenda>, lua: &Lua) {
        // What is owed from now on is told anew.
        self.is_told.store(false, Ordering::Release);
        self.begin_turn(TURN);
        let owing = self.owing();
        for (place, probe) in &owing {
            self.call(lua, probe);
            if self.is_over() {
                self.probes.lock().unwrap_or_else(PoisonError::into_inner).next = place + 1;
                break;
            }
        }
        if owing.iter().any(|(_, probe)| probe.owes()) {
            // Behind what others want of the state.
            self.tell();
        }
    }

    /// Probes that are owed something, and their places, beginning behind the one that the turn before has ended at.
    fn owing(&self) -> Vec<(usize, Arc<Probe>)> {
        let probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let first = if probes.next < probes.all.len() { probes.next } else { 0 };
        let places = (first..probes.all.len()).chain(0..first);
        let owing = places.filter_map(|place| Some((place, probes.all.get(place)?.upgrade()?)));
        owing.filter(|(_, probe)| probe.owes()).collect()
    }

    /// Calls what is owed to one probe before it stops.
    pub fn finish(&self, lua: &Lua, probe: &Probe) {
        let before = self.begin_turn(LAST_TURN);
        self.call(lua, probe);
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = before;
    }

    /// Gives when the turn would have been over that was before.
    fn begin_turn(&self, time: Duration) -> Option<Instant> {
        let end = Instant::now().checked_add(time);
        std::mem::replace(&mut *self.end.lock().unwrap_or_else(PoisonError::into_inner), end)
    }

    pub fn is_over(&self) -> bool {
        let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.is_none_or(|end| Instant::now() >= end)
    }

    fn call(&self, lua: &Lua, probe: &Probe) {
        // A handler that stops its own probe is not called meanwhile.
        let Some(_calling) = probe.begin_calls() else { return };
        let Some(caller) = (self.state.kept)(lua, probe.caller) else { return };
        for side in &probe.sides {
            if let Err(error) = call_side(&caller, side) {
                (self.state.warn)(error);
            }
        }
    }
}

fn call_side(caller: &Function, side: &Side) -> mlua::Result<()> {
    let owed = side.take_owed();
    if owed == 0 {
        return Ok(());
    }
    // Where handlers cannot even be found, none of the calls is made.
    let made: u64 = caller.call((side.handler, owed))?;
    side.give_back(owed.saturating_sub(made));
    Ok(())
}
