//! The `moonhook run` of a measurement.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;

const LONGEST_START: Duration = Duration::from_secs(60);
const LONGEST_STOP: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// A process that goes on until this is dropped.
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts `command`, which becomes `moonhook run`; what it says goes to the file `log`.
    pub fn start(command: &mut Command, log: PathBuf) -> Result<Self, Error> {
        let file = std::fs::File::create(&log).map_err(Error::system("make a log file"))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .map_err(Error::system("start moonhook run"))?;
        Ok(Running { child, log })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `has_attached`; an error if the process ends before, or too much time passes.
    pub fn wait_until(&mut self, has_attached: impl Fn() -> bool) -> Result<(), Error> {
        let started = Instant::now();
        while !has_attached() {
            let ended = self.child.try_wait().map_err(Error::system("wait for moonhook run"))?.is_some();
            if ended || started.elapsed() > LONGEST_START {
                let output = std::fs::read_to_string(&self.log).unwrap_or_default();
                return Err(Error::Command { command: "moonhook run".into(), output });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Running {
    /// As Ctrl-C would, so that the command takes back what it attached; killed if it does not end.
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
        let asked = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if asked.elapsed() > LONGEST_STOP {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}
