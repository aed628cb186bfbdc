//! What takes part in a measurement: something that decides about a frame, again and again.

use crate::error::Error;

/// What a handler decides (`enum xdp_action`).
pub const DROP: i32 = 1;
pub const PASS: i32 = 2;
pub const TX: i32 = 3;
pub const REDIRECT: i32 = 4;

/// The outcome of deciding about one frame many times.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Of the thread that did it (time in which it did not run is left out), divided by the number of times.
    pub ns_per_packet: f64,
    pub verdict: i32,
}

pub trait Contestant {
    /// Decides `repeat` times about frame number `frame` of the case.
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error>;
}

/// Measures `work` by the time that this thread ran.
pub fn timed<T>(repeat: u32, work: impl FnOnce() -> Result<T, Error>) -> Result<(f64, T), Error> {
    let before = thread_time()?;
    let result = work()?;
    Ok(((thread_time()? - before) / f64::from(repeat), result))
}

/// In ns.
fn thread_time() -> Result<f64, Error> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_err(|error| Error::System { what: "read the clock".into(), error: error.into() })?;
    Ok(time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}
