//! What a signal does that ends the process, in commands that have nothing to take out of the kernel.

use moonhook_session::threads;
use nix::sys::signal::{SigSet, Signal, raise};
use std::sync::atomic::{AtomicBool, Ordering};

/// Such a signal has come.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Has what is half made put away when such a signal comes; then the process ends of it, as it would have. Must be called before there are
/// other threads, which inherit that the signals wait.
pub fn put_away_on_signals() {
    let signals = SigSet::from_iter(ENDING);
    if signals.thread_block().is_err() {
        return;
    }
    let waiting = threads::start("signals", move || {
        while let Ok(signal) = signals.wait() {
            if is_ignored(signal) {
                continue;
            }
            IS_ENDING.store(true, Ordering::SeqCst);
            moonhook_packages::abandon();
            moonhook_lunatik::abandon();
            let _ = signals.thread_unblock().and_then(|()| raise(signal));
        }
    });
    if waiting.is_err() {
        let _ = signals.thread_unblock();
    }
}

/// Waits for the process to end, if a signal ends it: what failed for that is nothing to tell.
pub fn wait_if_ending() {
    while IS_ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Whether who has begun the process wants it to go on in spite of the signal (`nohup`): signals that wait are not dropped for that
/// (`sig_ignored`, kernel/signal.c).
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    ignored >> (signal as i32 - 1) & 1 == 1
}
