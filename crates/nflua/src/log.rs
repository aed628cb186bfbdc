//! What states print, and what has failed: lines, for a person or for the kernel's log.
//!
//! Threads write them ([`Lines`]): no state and no client waits for who reads.

use crate::lines::Lines;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Where lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// What is printed to standard output, what has failed to standard error.
    Standard,
    /// All to the kernel's log (`/dev/kmsg`), where NFLua has it.
    Kernel,
}

/// Takes lines.
#[derive(Clone)]
pub struct Journal {
    printed: Arc<Lines>,
    failed: Arc<Lines>,
    /// What is in front of both kinds.
    starts: [&'static str; 2],
}

impl Journal {
    /// # Errors
    /// The system gives no more threads or descriptors.
    pub fn begin(log: Log) -> io::Result<Journal> {
        match log {
            Log::Standard => {
                // Descriptors of their own: the library's have locks, which a write that does not end would hold.
                let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
                let errors = File::from(io::stderr().as_fd().try_clone_to_owned()?);
                Journal::with(output, errors, ["", "nflua: "])
            }
            // What a state prints has the priority of information, whatever it begins with (`KERN_INFO`, `KERN_ERR`, include/linux/kern_levels.h).
            Log::Kernel => Journal::with(Records, Records, ["<6>", "<3>nflua: "]),
        }
    }

    fn with(
        output: impl Write + Send + 'static,
        errors: impl Write + Send + 'static,
        starts: [&'static str; 2],
    ) -> io::Result<Journal> {
        let note = move |lines: &Lines, lost: u64| {
            let line = format!("{lost} lines were lost, for nobody has read them in time");
            lines.put(starts[1], line.as_bytes());
        };
        let failed = Lines::begin(errors, note)?;
        let own = Arc::clone(&failed);
        let printed = Lines::begin(output, move |_, lost| note(&own, lost))?;
        Ok(Journal { printed, failed, starts })
    }

    /// A line that a state has printed.
    pub fn printed(&self, line: &[u8]) {
        self.printed.put(self.starts[0], line);
    }

    /// What has failed, in one line.
    pub fn failed(&self, problem: &str) {
        let line = problem.trim_end().replace('\n', ": ");
        self.failed.put(self.starts[1], line.as_bytes());
    }

    /// Waits until all is written, as long as somebody takes it.
    pub fn finish(&self) {
        let lost = self.printed.finish();
        if lost > 0 {
            self.failed(&format!("{lost} lines were lost, for nobody has read them"));
        }
        self.failed.finish();
    }
}

/// The kernel's log. A record is one write, and has less than 1,000 bytes (`LOG_LINE_MAX`, kernel/printk/internal.h).
struct Records;

impl Write for Records {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        const LONGEST: usize = 960;
        let mut log = OpenOptions::new().write(true).open("/dev/kmsg")?;
        log.write_all(&line[..line.len().min(LONGEST)])?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u8>>>);

    impl Write for Seen {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_state_prints_sets_no_priority() {
        let [output, errors] = [Seen::default(), Seen::default()];
        let journal = Journal::with(output.clone(), errors.clone(), ["<6>", "<3>nflua: "]).unwrap();
        journal.printed(b"<0>the end");
        journal.failed("one\ntwo\n");
        journal.finish();
        assert_eq!(*output.0.lock().unwrap(), b"<6><0>the end\n");
        assert_eq!(*errors.0.lock().unwrap(), b"<3>nflua: one: two\n");
    }
}
