//! What the tests need of the machine they run on.

use moonhook_install::{Need, Outcome};
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

/// Whether programs can be loaded here. If not, notes that `test` is skipped, or fails where that is not allowed
/// (ARCHITECTURE.md, the variables `MOONHOOK_REQUIRE_KERNEL` and `MOONHOOK_SKIPPED`).
///
/// # Panics
/// Under `MOONHOOK_REQUIRE_KERNEL=1`, where the kernel refuses.
pub fn kernel_available(test: &str) -> bool {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let Some(reason) = REASON.get_or_init(refusal) else { return true };
    let required = std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_some_and(|value| value == "1");
    assert!(!required, "{test}: {reason}");
    println!("skipped: {reason}");
    note_skipped(test, reason);
    false
}

/// What the host lacks, if anything.
fn refusal() -> Option<String> {
    let features = moonhook_install::probe().features;
    features.into_iter().filter(|feature| feature.need == Need::Required).find_map(|feature| {
        match feature.outcome {
            Outcome::Fails(reason) => Some(format!("{}: {reason}", feature.name)),
            _ => None,
        }
    })
}

/// Tells `make test` of a test that cannot run here.
pub fn note_skipped(test: &str, reason: &str) {
    let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") else { return };
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        let _ = writeln!(file, "{test}: {reason}");
    }
}

/// A number from the environment.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How many times as long as a common machine this one takes: `MOONHOOK_SLOWNESS`, for emulated ones.
pub fn slowness() -> u32 {
    u32::try_from(setting("MOONHOOK_SLOWNESS", 1)).unwrap_or(1).max(1)
}

/// The processor time that this thread has taken so far, in the kernel and outside.
///
/// # Errors
/// As clock_gettime(2).
pub fn processor_time() -> nix::Result<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from)
}

/// The CPU this thread is on.
///
/// # Errors
/// As getcpu(2).
pub fn current_cpu() -> nix::Result<usize> {
    sched_getcpu()
}

/// Does `work` on one CPU; the thread goes where it likes afterwards.
///
/// # Errors
/// As sched_setaffinity(2): there is no such CPU, or this process may not use it.
pub fn on_cpu<T>(cpu: usize, work: impl FnOnce() -> T) -> nix::Result<T> {
    let this_thread = Pid::from_raw(0);
    let before = sched_getaffinity(this_thread)?;
    let mut only = CpuSet::new();
    only.set(cpu)?;
    sched_setaffinity(this_thread, &only)?;
    let done = work();
    sched_setaffinity(this_thread, &before)?;
    Ok(done)
}
