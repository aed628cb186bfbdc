//! Probes: the kernel counts what happens, and handlers are called as often as that was, a little later.
//!
//! Somebody else counts ([`Counting`]), once for all states. A thread looks at the counts now and then, and owes each probe as many calls as its count has
//! grown by; the probe's state makes them when it does nothing else. So no call is lost or made twice, and the kernel waits for none.

mod agenda;
mod counting;
mod probe;
mod watch;

pub use counting::{Counted, Counting, Counts, Uncounted};

pub(crate) use agenda::{Agenda, Surroundings};
pub(crate) use probe::{HANDLERS, Probe};
pub(crate) use watch::Watch;
