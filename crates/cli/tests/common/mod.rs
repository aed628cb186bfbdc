//! Running the command as a person would.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own with scripts in it, where the command runs.
pub struct Place {
    folder: tempfile::TempDir,
}

/// Passes every frame.
#[allow(dead_code)]
pub const PASS: &str = "require('xdp').attach(function() end)";
/// Prints, fails, writes and drops, depending on the frame's first byte.
#[allow(dead_code)]
pub const BUSY: &str = "\
local xdp = require 'xdp'
local action = require 'linux.xdp'
local count = 0
xdp.attach(function(pkt)
  count = count + 1
  local first = pkt:getbyte(0)
  if first == 1 then print('frame', count) end
  if first == 2 then return pkt:getbyte(9999) end
  if first == 3 then pkt:setbyte(1, 0xff) end
  if first == 4 then return action.DROP end
end)
";

impl Place {
    pub fn with(files: &[(&str, &str)]) -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a script");
        }
        Place { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A capture of frames of 60 bytes with these first bytes.
    #[allow(dead_code)]
    pub fn capture(&self, name: &str, firsts: &[u8]) {
        let frames = firsts.iter().map(|first| {
            let mut frame = vec![0; 60];
            frame[0] = *first;
            frame
        });
        write_capture(&self.path(name), frames);
    }

    #[allow(dead_code)]
    pub fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_moonhook"));
        command.args(arguments).current_dir(self.folder.path()).env_remove("NO_COLOR");
        Run { output: command.output().expect("the command starts"), arguments: arguments.join(" ") }
    }
}

/// A capture of frames of 60 bytes at these times, in nanoseconds since 1970.
#[allow(dead_code)]
pub fn write_capture_at(path: &Path, times: &[u64]) {
    let mut writer = moonhook_capture::Writer::create(path).expect("a capture");
    for (index, time) in times.iter().enumerate() {
        let (timestamp_ns, data) = (*time, vec![0; 60]);
        let frame = moonhook_capture::Frame { timestamp_ns, data, original_length: 60, number: index as u64 };
        writer.write(&frame).expect("a frame");
    }
    writer.finish().expect("a capture");
}

/// Prints the time since load time, and what entries with a lifetime of a second hold.
#[allow(dead_code)]
pub const TIMES: &str = "\
local linux = require 'linux'
local loaded = linux.time()
local seen = map{key = 'int', value = 'int', ttl = 1, capacity = 10}
seen[7] = 70
require('xdp').attach(function(pkt)
  print(linux.difftime(linux.time(), loaded), seen[1], seen[7])
  seen[1] = (seen[1] or 0) + 1
end)
";

/// A capture of twenty years ago, in which one frame has no time and one comes too late, and what [`TIMES`] prints.
#[allow(dead_code)]
pub fn times(path: &Path) -> Vec<String> {
    const BEGIN: u64 = 1_100_000_000_000_000_000;
    let at = |milliseconds: u64| BEGIN + milliseconds * 1_000_000;
    write_capture_at(path, &[at(0), at(500), at(1200), at(3000), 0, at(2000)]);
    let lines = [
        "0\tnil\t70",
        "500000000\t1\t70",
        "1200000000\t2\tnil",
        "3000000000\tnil\tnil",
        "3000000000\t1\tnil",
        "2000000000\t2\tnil",
    ];
    lines.map(str::to_string).to_vec()
}

impl Place {
    /// Carries out a line of shell, in which the command is `"$MOONHOOK"`.
    #[allow(dead_code)]
    pub fn shell(&self, line: &str) -> Run {
        let mut command = Command::new("bash");
        command.args(["-c", line]).current_dir(self.folder.path()).env_remove("NO_COLOR");
        command.env("MOONHOOK", env!("CARGO_BIN_EXE_moonhook")).env("MOONHOOK_RUNTIME_DIR", self.path("run"));
        Run { output: command.output().expect("bash starts"), arguments: line.to_string() }
    }
}

#[allow(dead_code)]
pub fn write_capture(path: &Path, frames: impl Iterator<Item = Vec<u8>>) {
    let mut writer = moonhook_capture::Writer::create(path).expect("a capture");
    for (index, data) in frames.enumerate() {
        let original_length = data.len() as u32;
        let frame = moonhook_capture::Frame { timestamp_ns: 1, data, original_length, number: index as u64 };
        writer.write(&frame).expect("a frame");
    }
    writer.finish().expect("a capture");
}

/// How a run of the command ended.
pub struct Run {
    output: Output,
    arguments: String,
}

#[allow(dead_code)]
impl Run {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    #[track_caller]
    pub fn ends_with(self, code: i32) -> Run {
        let (stdout, stderr) = (self.stdout(), self.stderr());
        assert_eq!(self.output.status.code(), Some(code), "moonhook {}\n{stdout}\n{stderr}", self.arguments);
        self
    }

    /// Asserts that standard error is one diagnostic with that code.
    #[track_caller]
    pub fn complains(self, code: &str) -> Run {
        let stderr = self.stderr();
        assert!(stderr.contains(&format!("error[{code}]")), "moonhook {}\n{stderr}", self.arguments);
        assert!(stderr.contains("help: "), "{stderr}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        let stdout = self.stdout();
        serde_json::from_str(&stdout)
            .unwrap_or_else(|error| panic!("moonhook {}: {error}\n{stdout}", self.arguments))
    }
}
