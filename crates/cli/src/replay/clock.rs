//! What time it is for handlers in a replay: the time of the frame in the capture.

use moonhook_capture::Capture;
use moonhook_load::Moment;

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
    pub fn set(&mut self, time: u64) {
        let (Some(first), Ok(time)) = (self.first, i64::try_from(time)) else { return };
        if time != 0 {
            self.now.since_epoch = time;
            self.now.monotonic =
                self.now.monotonic.max(self.begin.saturating_add(time.saturating_sub(first)));
        }
    }
}
