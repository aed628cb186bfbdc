//! Threads that nobody waits for any more.

use nix::libc;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::time::Duration;

/// How long a thread of this process has run on a processor; `None` if there is no such thread.
pub fn processor_time(thread: Pid) -> Option<Duration> {
    // The clock of one thread, by its number (`MAKE_THREAD_CPUCLOCK`, include/linux/posix-timers_types.h).
    const PER_THREAD: i32 = 4;
    const SCHEDULER: i32 = 2;
    let clock = ClockId::from_raw(!thread.as_raw() << 3 | PER_THREAD | SCHEDULER);
    clock_gettime(clock).ok().map(Duration::from)
}

/// From now on a thread of this process runs only where a processor has nothing else to do (sched(7), `SCHED_IDLE`).
pub fn lower_priority(thread: Pid) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameters, and answers ESRCH if the thread is gone.
    let _ = unsafe { libc::sched_setscheduler(thread.as_raw(), libc::SCHED_IDLE, &raw const parameters) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::gettid;

    #[test]
    fn time_and_priority_are_those_of_the_thread() {
        let (send, receive) = std::sync::mpsc::channel();
        let busy = std::thread::spawn(move || {
            send.send(gettid()).unwrap();
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_millis(300) {}
        });
        let thread = receive.recv().unwrap();
        lower_priority(thread);
        let scheduled =
            std::fs::read_to_string(format!("/proc/self/task/{thread}/sched")).unwrap_or_default();
        let policy = scheduled.lines().find_map(|line| line.strip_prefix("policy")?.trim().strip_prefix(':'));
        assert!(policy.is_none_or(|policy| policy.trim() == libc::SCHED_IDLE.to_string()), "{scheduled}");
        assert!(processor_time(thread).is_some());
        busy.join().unwrap();
        assert_eq!(processor_time(Pid::from_raw(i32::MAX / 16)), None);
    }
}
