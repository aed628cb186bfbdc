//! Signals of the process, for scripts that asked for them.

use moonhook_load::Signal;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, sigaction};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often each of [`Signal::ALL`] has arrived, wrapping.
static ARRIVED: [AtomicU32; Signal::ALL.len()] = [const { AtomicU32::new(0) }; Signal::ALL.len()];

fn number(signal: Signal) -> nix::sys::signal::Signal {
    match signal {
        Signal::Hangup => nix::sys::signal::SIGHUP,
        Signal::User1 => nix::sys::signal::SIGUSR1,
        Signal::User2 => nix::sys::signal::SIGUSR2,
    }
}

extern "C" fn arrive(arrived: c_int) {
    for (signal, count) in Signal::ALL.into_iter().zip(&ARRIVED) {
        if number(signal) as c_int == arrived {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What one state has seen of the signals.
#[derive(Default)]
pub(crate) struct Seen([u32; Signal::ALL.len()]);

impl Seen {
    /// From now on the signal is counted and does nothing else to the process.
    pub fn watch(&mut self, signal: Signal) {
        let action = SigAction::new(SigHandler::Handler(arrive), SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handler does nothing but add to an atomic number.
        let set = unsafe { sigaction(number(signal), &action) };
        debug_assert!(set.is_ok(), "the signal can be handled (sigaction(2))");
        let at = signal as usize;
        self.0[at] = ARRIVED[at].load(Ordering::Relaxed);
    }

    /// Whether the signal has arrived since the last time; several arrivals count once.
    pub fn has_arrived(&mut self, signal: Signal) -> bool {
        let (seen, now) = (&mut self.0[signal as usize], ARRIVED[signal as usize].load(Ordering::Relaxed));
        std::mem::replace(seen, now) != now
    }
}
