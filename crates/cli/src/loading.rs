//! Load time of the commands that begin with it and do nothing else meanwhile.
//!
//! A script that goes on for ever inside a function of the library cannot be stopped. `moonhook run` leaves it behind; here the process
//! ends, with the error that the limit on steps gives.

use crate::{CliError, Exit, report};
use moonhook_control::processor_time;
use moonhook_load::{LoadError, Loaded, Options};
use moonhook_session::{GRACE, threads};
use nix::unistd::{Pid, gettid};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// From one look at the time to the next.
const NAP: Duration = Duration::from_millis(200);

/// Runs the scripts. What they print goes to standard error if the answer is one that programs read.
///
/// # Errors
/// What the load stage refuses.
pub fn load(scripts: &[PathBuf], options: &Options, is_read: bool, json: bool) -> Result<Loaded, CliError> {
    let options = Options { prints_to_stderr: is_read, ..options.clone() };
    let watch =
        Watch { thread: gettid(), limit: options.longest() + GRACE, steps: options.instruction_limit, json };
    let (ended, end) = channel::<()>();
    threads::start("watch", move || watch.run(&end))?;
    let loaded = moonhook_load::load(scripts, &options);
    drop(ended);
    Ok(loaded?)
}

/// Looks after a thread that runs scripts.
struct Watch {
    thread: Pid,
    limit: Duration,
    steps: u64,
    json: bool,
}

impl Watch {
    /// Ends the process when the thread has run for longer than it may, unless it has ended.
    fn run(&self, end: &Receiver<()>) {
        let begin = processor_time(self.thread).unwrap_or_default();
        while end.recv_timeout(NAP) == Err(RecvTimeoutError::Timeout) {
            let time = processor_time(self.thread).unwrap_or_default();
            if time.saturating_sub(begin) > self.limit {
                let error = LoadError::Instructions { limit: self.steps, place: None };
                let exit: Exit = report::failure(&error.into(), self.json, &mut std::io::stdout());
                moonhook_packages::abandon();
                std::process::exit(exit as i32);
            }
        }
    }
}
