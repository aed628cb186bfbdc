//! The thread that looks at counts, and what is counted, as long as there are probes for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use nix::errno::Errno;

use crate::probes::counting::{Counted, Counting, Counts, Uncounted};
use crate::probes::probe::{Probe, Side};

/// The time from one look to the next.
const PAUSE: Duration = Duration::from_millis(30);

/// Where lines go to.
type Output = Box<dyn Fn(&[u8]) + Send + Sync>;

/// All probes of a host.
pub(crate) struct Watch {
    counting: Arc<dyn Counting>,
    /// Gets what goes wrong.
    warnings: Arc<Output>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    counts: BTreeMap<Counted, Box<dyn Counts>>,
    probes: Vec<Weak<Probe>>,
    /// The thread is there.
    has_thread: bool,
}

impl Watch {
    pub fn new(counting: Arc<dyn Counting>, warnings: Arc<Output>) -> Arc<Watch> {
        Arc::new(Watch { counting, warnings, watched: Mutex::default() })
    }

    fn warn(&self, line: &str) {
        (self.warnings)(line.as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks after the probe that `make` makes of what is wanted: what handlers are for.
    ///
    /// # Errors
    /// What cannot be counted.
    pub fn begin(
        self: &Arc<Watch>,
        wanted: Vec<(&'static str, (Counted, u32))>,
        make: impl FnOnce(Vec<Side>) -> Arc<Probe>,
    ) -> Result<Arc<Probe>, Uncounted> {
        let mut watched = self.lock();
        let sides = wanted.into_iter().map(|(handler, what)| self.side(&mut watched, handler, what));
        let sides = sides.collect::<Result<Vec<_>, _>>().and_then(|sides| {
            self.see_to_thread(&mut watched)?;
            Ok(sides)
        });
        match sides {
            Ok(sides) => {
                let probe = make(sides);
                watched.probes.push(Arc::downgrade(&probe));
                Ok(probe)
            }
            Err(error) => {
                let unused = watched.take_unused();
                drop(watched);
                drop(unused);
                Err(error)
            }
        }
    }

    fn side(
        &self,
        watched: &mut Watched,
        handler: &'static str,
        (counted, number): (Counted, u32),
    ) -> Result<Side, Uncounted> {
        if !watched.counts.contains_key(&counted) {
            let counts = self.counting.count(&counted)?;
            watched.counts.insert(counted.clone(), counts);
        }
        let seen = watched.count(&counted, number).map_err(failed)?;
        Ok(Side::new(handler, (counted, number), seen))
    }

    fn see_to_thread(self: &Arc<Watch>, watched: &mut Watched) -> Result<(), Uncounted> {
        if !watched.has_thread {
            let own = Arc::downgrade(self);
            let thread = std::thread::Builder::new().name("probes".to_string());
            thread.spawn(move || follow(&own)).map_err(|error| failed(error.to_string()))?;
            watched.has_thread = true;
        }
        Ok(())
    }

    /// Owes a probe what has happened up to now.
    pub fn look(&self, probe: &Probe) {
        let watched = self.lock();
        for side in &probe.sides {
            match watched.count(&side.counted, side.number) {
                Ok(count) => drop(side.look(count)),
                Err(problem) => self.warn(&problem),
            }
        }
    }

    /// Counts for a probe once more, or no longer.
    pub fn enable(&self, probe: &Probe, is_enabled: bool) {
        let watched = self.lock();
        for side in probe.sides.iter().filter(|side| side.is_counted() != is_enabled) {
            match watched.count(&side.counted, side.number) {
                Ok(count) => {
                    // What has happened up to now is owed still.
                    side.look(count);
                    side.set_seen(is_enabled.then_some(count));
                }
                Err(problem) => self.warn(&problem),
            }
        }
    }

    /// Counts no longer what no probe is for.
    pub fn forget_unused(&self) {
        let unused = self.lock().take_unused();
        // Outside the lock: the kernel takes its time.
        drop(unused);
    }

    /// Owes all probes what has happened; `false` where there are none.
    fn look_at_all(&self) -> bool {
        let mut watched = self.lock();
        let unused = watched.take_unused();
        if watched.probes.is_empty() {
            watched.has_thread = false;
            drop(watched);
            drop(unused);
            return false;
        }
        let mut grown = BTreeMap::new();
        let mut broken = Vec::new();
        for (counted, counts) in &watched.counts {
            match counts.all() {
                Ok(all) => drop(grown.insert(counted.clone(), all.into_iter().collect::<BTreeMap<_, _>>())),
                Err(problem) => broken.push((counted.clone(), problem)),
            }
        }
        for (counted, problem) in broken {
            watched.counts.remove(&counted);
            self.warn(&format!("probes get nothing any more: {problem}"));
        }
        for probe in watched.probes.iter().filter_map(Weak::upgrade) {
            let mut owes = false;
            for side in &probe.sides {
                let count = grown.get(&side.counted).and_then(|counts| counts.get(&side.number));
                owes |= count.is_some_and(|count| side.look(*count));
            }
            if owes {
                probe.agenda.tell();
            }
        }
        true
    }
}

impl Watched {
    fn count(&self, counted: &Counted, number: u32) -> Result<u64, String> {
        let counts = self.counts.get(counted).ok_or("it is not counted any more")?;
        counts.one(number)
    }

    /// Takes out what no probe is for that goes on.
    fn take_unused(&mut self) -> Vec<Box<dyn Counts>> {
        self.probes.retain(|probe| probe.upgrade().is_some_and(|probe| !probe.is_stopped()));
        let probes: Vec<_> = self.probes.iter().filter_map(Weak::upgrade).collect();
        let used: BTreeSet<_> =
            probes.iter().flat_map(|probe| &probe.sides).map(|side| &side.counted).collect();
        let unused: Vec<_> = self.counts.keys().filter(|counted| !used.contains(counted)).cloned().collect();
        unused.iter().filter_map(|counted| self.counts.remove(counted)).collect()
    }
}

fn failed(reason: String) -> Uncounted {
    Uncounted { errno: Errno::EIO as i32, reason }
}

/// Looks until there is nothing to look at.
fn follow(watch: &Weak<Watch>) {
    loop {
        std::thread::sleep(PAUSE);
        let Some(watch) = watch.upgrade() else { return };
        if !watch.look_at_all() {
            return;
        }
    }
}
