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
    Ok(watched(&options, json, || moonhook_load::load(scripts, &options))??)
}

/// Ends what scripts have begun for processes, and calls what finalizers are left, within the time that load time has.
///
/// # Errors
/// `Instructions`, if that was too little.
pub fn end(loaded: Loaded, options: &Options, json: bool) -> Result<(), CliError> {
    let Some(control) = &options.control else { return Ok(()) };
    let lua = loaded.lua.clone();
    let is_done = watched(options, json, || {
        control.stop();
        drop(loaded);
        control.finish(&lua, options.longest())
    })?;
    match is_done {
        true => Ok(()),
        false => Err(LoadError::Instructions { limit: options.instruction_limit, place: None }.into()),
    }
}

/// Runs Lua on this thread; the process ends where that goes on for longer than load time may.
fn watched<R>(options: &Options, json: bool, work: impl FnOnce() -> R) -> Result<R, CliError> {
    let (limit, steps) = (options.longest() + GRACE, options.instruction_limit);
    let watch = Watch { thread: gettid(), limit, steps, json };
    let (ended, end) = channel::<()>();
    threads::start("watch", move || watch.run(&end))?;
    let result = work();
    drop(ended);
    Ok(result)
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
