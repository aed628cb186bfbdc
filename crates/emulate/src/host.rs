//! What helpers ask the machine for: time and chance.

use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Host {
    start: Instant,
    /// How long the machine was up then, in nanoseconds.
    before: u64,
    /// What time it is said to be.
    pub given: Option<u64>,
    random: u64,
}

impl Host {
    pub fn new() -> Host {
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
        let seconds = uptime.split_whitespace().next().and_then(|seconds| seconds.parse().ok());
        let before = seconds.map_or(0, |seconds: f64| (seconds * 1e9) as u64);
        Host { start: Instant::now(), before, given: None, random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Nanoseconds since the machine began, or what they are said to be.
    pub fn now(&self) -> u64 {
        if let Some(given) = self.given {
            return given;
        }
        self.before.saturating_add(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The same numbers each time, so that what a script does can be repeated (xorshift64*).
    pub fn random(&mut self) -> u32 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}
