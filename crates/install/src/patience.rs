//! Patience: how long the verifier may work on an object.
//!
//! The verifier gives up with EAGAIN when a signal is pending for the thread that loads (`do_check`, kernel/bpf/verifier.c). So a second
//! thread watches how much processor time the first one has used, and sends it a signal whose handler does nothing. libbpf
//! tries again some times (`sys_bpf_prog_load`, tools/lib/bpf/bpf.c), hence the signals go on until the work is over.

use nix::libc;
use nix::sys::pthread::{Pthread, pthread_kill, pthread_self};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::time::{ClockId, clock_gettime};
use std::sync::Once;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The signal: ignored unless somebody handles it, and used for nothing else here.
const SIGNAL: Signal = Signal::SIGURG;

/// Time between two signals.
const INTERVAL: Duration = Duration::from_millis(1);

/// Runs `work`, which is interrupted when this thread has used that much processor time; says whether it was.
pub(crate) fn bounded<T>(patience: Option<Duration>, work: impl FnOnce() -> T) -> (T, bool) {
    let clock = patience.and_then(|patience| Some((patience, clock_of(pthread_self())?)));
    let Some((patience, clock)) = clock else { return (work(), false) };
    handle_signal();
    let loader = pthread_self();
    let (done, ended) = channel();
    std::thread::scope(|scope| {
        let watcher = std::thread::Builder::new().name("patience".to_string());
        let watcher = watcher.spawn_scoped(scope, move || watch(loader, clock, patience, &ended));
        let result = work();
        drop(done);
        // A watcher that could not be started or has failed has interrupted nothing.
        (result, watcher.is_ok_and(|watcher| watcher.join().unwrap_or(false)))
    })
}

/// Waits until the work has ended; interrupts it when `patience` is over. `loader` lives until then.
fn watch(loader: Pthread, clock: ClockId, patience: Duration, ended: &Receiver<()>) -> bool {
    let used = || clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let end = used() + patience;
    let mut interrupted = false;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(end.saturating_sub(used()).max(INTERVAL)) {
        if used() >= end {
            interrupted |= pthread_kill(loader, SIGNAL).is_ok();
        }
    }
    interrupted
}

/// The clock that counts the processor time of a thread.
fn clock_of(thread: Pthread) -> Option<ClockId> {
    let mut clock = 0;
    // SAFETY: the thread is the caller's own, and `clock` is writable.
    let found = unsafe { libc::pthread_getcpuclockid(thread, &raw mut clock) } == 0;
    found.then(|| ClockId::from_raw(clock))
}

extern "C" fn ignore(_: libc::c_int) {}

/// A signal that is ignored is never pending: it needs a handler. Other system calls go on behind it.
fn handle_signal() {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        let action = SigAction::new(SigHandler::Handler(ignore), SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handler does nothing, and the signal has no handler of anybody else's.
        let _ = unsafe { sigaction(SIGNAL, &action) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn work_ends_when_patience_does() {
        let busy = || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(100) {
                std::hint::black_box(0);
            }
        };
        assert!(bounded(Some(Duration::from_millis(1)), busy).1);
        assert!(!bounded(Some(Duration::from_secs(100)), busy).1);
        assert!(!bounded(None, busy).1);
    }
}
