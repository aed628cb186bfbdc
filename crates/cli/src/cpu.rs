//! One CPU for all runs of a program on frames.

use crate::terminal;
use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// Keeps this thread, and those that it begins from now on, on the CPU where it is: test runs are on the thread's CPU, each of which has pseudo-random
/// numbers, entries of maps per CPU and variables of its own.
pub fn stay_on_this_cpu() {
    let stay = |cpu| {
        let mut only = CpuSet::new();
        only.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only))
    };
    if let Err(errno) = sched_getcpu().and_then(stay) {
        terminal::complain(format_args!(
            "note: cannot stay on one CPU, each of which has state of its own ({errno})"
        ));
    }
}
