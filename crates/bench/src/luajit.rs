//! The LuaJIT contestant: a process of its own (bench/luajit/main.lua), because its symbols are those of PUC Lua.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::contestant::{Contestant, Run};
use crate::error::Error;

pub struct LuaJit {
    name: String,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl LuaJit {
    /// Starts `luajit` with the handler in `script`, the path of a list, and files with the frames.
    pub fn start(script: &Path, list: &Path, frames: &[PathBuf]) -> Result<Self, Error> {
        let folder = script.parent().unwrap_or(Path::new("."));
        let mut child = Command::new("luajit")
            .arg(folder.join("main.lua"))
            .args([script, list])
            .args(frames)
            .env("LUA_PATH", folder.join("?.lua"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::system("start luajit"))?;
        let name = script.display().to_string();
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => {
                Ok(LuaJit { name, child, requests, answers: BufReader::new(answers) })
            }
            _ => Err(Error::Peer { contestant: name, message: "has no pipes".into() }),
        }
    }
}

impl Contestant for LuaJit {
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error> {
        let talk = || Error::system(format!("talk to {}", self.name));
        writeln!(self.requests, "{} {repeat}", frame + 1).map_err(talk())?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(talk())?;
        let mut words = answer.split_whitespace();
        let time = words.next().and_then(|word| word.parse::<f64>().ok());
        let verdict = words.next().and_then(|word| word.parse().ok());
        match (time, verdict) {
            (Some(time), Some(verdict)) => Ok(Run { ns_per_packet: time / f64::from(repeat), verdict }),
            _ => Err(Error::Peer { contestant: self.name.clone(), message: format!("answered {answer:?}") }),
        }
    }
}

impl Drop for LuaJit {
    fn drop(&mut self) {
        // The child may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
