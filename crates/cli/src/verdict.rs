//! Verdicts of the XDP hook (`enum xdp_action`, include/uapi/linux/bpf.h).

use std::borrow::Cow;

/// A verdict that a person can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Verdict {
    Aborted = 0,
    Drop = 1,
    Pass = 2,
    Tx = 3,
}

/// `PASS`, the number of the verdict that lets a frame through.
pub const PASS: u32 = Verdict::Pass as u32;

/// The names of the verdicts, by number, as `require "linux.xdp"` has them.
pub const NAMES: [&str; 5] = ["ABORTED", "DROP", "PASS", "TX", "REDIRECT"];

/// The verdict's name, or the number of one that has none.
pub fn name(verdict: u32) -> Cow<'static, str> {
    match NAMES.get(verdict as usize) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(verdict.to_string()),
    }
}
