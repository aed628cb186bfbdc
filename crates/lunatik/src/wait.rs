//! Waiting that a stop ends.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Ready,
    Timeout,
    /// The thread is to stop.
    Stopped,
}

/// Something that happens, or has happened a number of times.
pub(crate) struct Event(EventFd);

impl Event {
    /// Each wait takes one of as many times as it was [`Event::set`].
    pub fn counting() -> nix::Result<Event> {
        Event::with(EfdFlags::EFD_SEMAPHORE)
    }

    /// Stays set.
    pub fn lasting() -> nix::Result<Event> {
        Event::with(EfdFlags::empty())
    }

    fn with(flags: EfdFlags) -> nix::Result<Event> {
        EventFd::from_value_and_flags(0, flags | EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).map(Event)
    }

    pub fn set(&self) {
        // Only a count of 2^64 - 2 fails.
        let _ = self.0.write(1);
    }

    /// Takes one time; says whether there was one.
    pub fn take(&self) -> bool {
        self.0.read().is_ok()
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until there is something at a descriptor (`None`: nothing is waited for), `stop` is set, or that time is over (`None`: never).
pub(crate) fn wait(
    descriptor: Option<(BorrowedFd<'_>, PollFlags)>,
    stop: Option<&Event>,
    time: Option<Duration>,
) -> Waited {
    let deadline = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        let mut polled: Vec<PollFd> = Vec::new();
        polled.extend(stop.map(|stop| PollFd::new(stop.descriptor(), PollFlags::POLLIN)));
        polled.extend(descriptor.map(|(descriptor, events)| PollFd::new(descriptor, events)));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match poll(&mut polled, timeout(left)) {
            Ok(0) if left.is_some_and(|left| left > LONGEST) => {}
            Ok(0) if left.is_some() => return Waited::Timeout,
            Ok(0) | Err(Errno::EINTR | Errno::EAGAIN) => {}
            Ok(_) if stop.is_some() && polled[0].any() == Some(true) => return Waited::Stopped,
            // An error of the descriptor is found by whoever uses it.
            Ok(_) | Err(_) => return Waited::Ready,
        }
    }
}

/// The longest time that one call of `poll` takes here.
const LONGEST: Duration = Duration::from_secs(3600);

/// In whole milliseconds, rounded up.
fn timeout(left: Option<Duration>) -> PollTimeout {
    let left = left.map(|left| left.min(LONGEST).as_nanos().div_ceil(1_000_000));
    left.and_then(|left| PollTimeout::try_from(left).ok()).unwrap_or(PollTimeout::NONE)
}
