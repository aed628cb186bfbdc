//! Ways to end a script, and what has to be true then.

use crate::common::Place;
use crate::flood::Running;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::ErrorKind;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a script is ended.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Interrupt,
    Terminate,
    /// `moonhook stop`.
    Stop,
}

pub const ENDS: [End; 3] = [End::Interrupt, End::Terminate, End::Stop];

/// From the signal or the request to the end of the process. Nothing is waited for, but a busy machine takes its time; a function that
/// takes too long would be stopped after ten seconds.
const SOON: Duration = Duration::from_secs(8);

impl End {
    pub fn begin(self, running: &Running) {
        let pid = Pid::from_raw(running.child.id() as i32);
        match self {
            End::Interrupt => kill(pid, Signal::SIGINT).unwrap(),
            End::Terminate => kill(pid, Signal::SIGTERM).unwrap(),
            End::Stop => assert!(command(running, &["stop"]).status().unwrap().success()),
        }
    }

    /// Asserts that the process is gone soon, and that all went well.
    pub fn is_reached(self, running: Running, what: &str) {
        let status = self.waited_for(running, what);
        assert!(status.success(), "{what}, {self:?}: {status}");
    }

    /// Ends the script; how the process ended, which is gone soon.
    pub fn ends(self, running: Running, what: &str) -> ExitStatus {
        self.begin(&running);
        self.waited_for(running, what)
    }

    fn waited_for(self, mut running: Running, what: &str) -> ExitStatus {
        let begun = Instant::now();
        loop {
            match running.child.try_wait().unwrap() {
                Some(status) => return status,
                None if begun.elapsed() < SOON => std::thread::sleep(Duration::from_millis(5)),
                None => panic!("{what}, {self:?}: still there after {SOON:?}"),
            }
        }
    }

    /// Ends the script, and asserts that the process is gone soon, that it leaves no file, and that its name is free.
    pub fn put_to(self, running: Running, place: &Place, what: &str) {
        let (folder, name) = (running.folder.clone(), running.name.clone());
        self.begin(&running);
        self.is_reached(running, what);
        let left = match std::fs::read_dir(place.path("run")) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            files => files.unwrap().map(|file| file.unwrap().file_name()).collect(),
        };
        assert!(left.is_empty(), "{what}, {self:?}: {left:?} is left");
        drop(folder.claim(&name).expect("the name is free"));
    }
}

/// A command about the running script: its first word, and what comes behind the script's name.
pub fn command(running: &Running, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moonhook"));
    command.arg(words[0]).arg(running.name.as_str()).args(&words[1..]);
    command.arg("--socket-dir").arg(running.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
