//! What time it is for handlers in test runs of a capture: the time of the frame in it.

use moonhook_capture::Capture;
use moonhook_engine::Clock as Kind;
use moonhook_install::{InstallError, Program};
use moonhook_ir::maps::sections;
use moonhook_load::Moment;

/// Tells a program that was made for a given time what time it is. Those that do not ask have no place for it ([`sections::CLOCK`]).
///
/// # Errors
/// `NoSuchItem` where there is no such place.
pub fn tell(program: &Program, time: Moment) -> Result<(), InstallError> {
    let section = program.data_section(sections::CLOCK)?;
    section.store(Kind::Monotonic as usize, time.monotonic as u64);
    section.store(Kind::Tai as usize, time.since_epoch as u64);
    Ok(())
}

/// From the frames' times to those of the two clocks that handlers have.
pub struct Clock {
    /// The present moment; at first that of load time.
    now: Moment,
    /// The time of the first frame that has one.
    first: Option<i64>,
    /// What the monotonic clock said then.
    begin: i64,
}

impl Clock {
    /// Load time is at the time of the capture's first frame.
    pub fn new(capture: Capture) -> Clock {
        let first = capture.flatten().map(|frame| frame.timestamp_ns).find(|time| *time != 0);
        let first = first.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
        let mut now = moonhook_load::time().unwrap_or(Moment { since_epoch: 0, monotonic: 0 });
        now.since_epoch = first.unwrap_or(now.since_epoch);
        Clock { now, first, begin: now.monotonic }
    }

    pub fn now(&self) -> Moment {
        self.now
    }

    /// Sets the clocks to the time of a frame, in nanoseconds since 1970; 0 where the capture does not say, which leaves them. Lifetimes
    /// are counted by a clock that does not go back where frames are out of order.
    fn set(&mut self, time: u64) {
        let (Some(first), Ok(time)) = (self.first, i64::try_from(time)) else { return };
        if time != 0 {
            self.now.since_epoch = time;
            self.now.monotonic =
                self.now.monotonic.max(self.begin.saturating_add(time.saturating_sub(first)));
        }
    }

    /// The time of a frame that the capture has at `time`.
    pub fn at(&mut self, time: u64) -> Moment {
        self.set(time);
        self.now
    }
}
