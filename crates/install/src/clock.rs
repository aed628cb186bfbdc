//! What the kernel's clocks have of one another.

use nix::libc;
use std::mem::zeroed;

/// By how many seconds `CLOCK_TAI` is ahead of `CLOCK_REALTIME`: 0 as long as nobody has told the kernel (adjtimex(2)).
pub fn seconds_ahead() -> i64 {
    // SAFETY: a structure of integers.
    let mut state: libc::timex = unsafe { zeroed() };
    // SAFETY: the kernel fills the structure in, and changes nothing: `modes` is 0.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    if answer < 0 { 0 } else { i64::from(state.tai) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::time::{ClockId, clock_gettime};

    #[test]
    fn it_is_what_the_clocks_say() {
        let [tai, utc] =
            [ClockId::CLOCK_TAI, ClockId::CLOCK_REALTIME].map(|clock| clock_gettime(clock).unwrap());
        let ahead = tai.tv_sec() - utc.tv_sec();
        assert!((ahead - seconds_ahead()).abs() <= 1, "{ahead}");
    }
}
