//! What states print, and what has failed: lines, for a person or for the kernel's log.

use std::fs::OpenOptions;
use std::io::Write;

/// Where lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// What is printed to standard output, what has failed to standard error.
    Standard,
    /// All to the kernel's log (`/dev/kmsg`), where NFLua has it.
    Kernel,
}

impl Log {
    /// A line that a state has printed.
    pub fn printed(self, line: &[u8]) {
        match self {
            // Who does not read does not stop the states.
            Log::Standard => drop(write(&mut std::io::stdout(), b"", line)),
            Log::Kernel => kernel(b"", line),
        }
    }

    /// What has failed, in one line.
    pub fn failed(self, problem: &str) {
        let line = problem.trim_end().replace('\n', ": ");
        match self {
            Log::Standard => drop(write(&mut std::io::stderr(), b"nflua: ", line.as_bytes())),
            Log::Kernel => kernel(b"nflua: ", line.as_bytes()),
        }
    }
}

/// A record of that log is one write, and has less than 1,000 bytes (`LOG_LINE_MAX`, kernel/printk/internal.h).
fn kernel(start: &[u8], line: &[u8]) {
    const LONGEST: usize = 960;
    if let Ok(mut log) = OpenOptions::new().write(true).open("/dev/kmsg") {
        let whole = [start, line, b"\n"].concat();
        let cut = &whole[..whole.len().min(LONGEST)];
        // There is nobody else to tell.
        drop(log.write(cut));
    }
}

fn write(out: &mut dyn Write, start: &[u8], line: &[u8]) -> std::io::Result<()> {
    out.write_all(&[start, line, b"\n"].concat())?;
    out.flush()
}
