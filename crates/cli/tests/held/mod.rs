//! What a running script holds, and that it gives it back.

use crate::flood::Running;
use moonhook_daemon::{Request, Status};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Resident memory that may come between the first measurement and the last, in KiB.
pub const GROWTH: u64 = 16 << 10;

/// Ends the others' work when one has failed.
pub struct StopOthers<'a>(pub &'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// What a process holds.
#[derive(Debug)]
pub struct Held {
    /// KiB.
    pub resident: u64,
    pub threads: u64,
    /// Open files by kind: `socket`, `bpf-map`, ….
    pub files: BTreeMap<String, usize>,
}

impl Held {
    fn of(process: u32) -> Held {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_end_matches("kB").trim().parse().unwrap()
        };
        let mut files = BTreeMap::new();
        for file in std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten() {
            let Ok(target) = std::fs::read_link(file.path()) else { continue };
            *files.entry(kind_of(&target)).or_default() += 1;
        }
        Held { resident: number("VmRSS:"), threads: number("Threads:"), files }
    }
}

/// `socket` of `socket:[123]`, `bpf-map` of `anon_inode:bpf-map`, `file` of a path.
fn kind_of(target: &Path) -> String {
    let target = target.to_string_lossy();
    match target.strip_prefix("anon_inode:") {
        Some(kind) => kind.to_string(),
        None if target.starts_with('/') => "file".to_string(),
        None => target.split(':').next().unwrap_or_default().to_string(),
    }
}

/// How many programs of the soak the kernel has.
pub fn programs() -> usize {
    let output = Command::new("bpftool").args(["-j", "prog", "show"]).output().unwrap();
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    all.iter()
        .filter(|program| program["name"].as_str().is_some_and(|name| name.starts_with("soak_")))
        .count()
}

/// What the process holds when nobody does anything to the script any more and what was replaced has gone.
pub fn settled(running: &Running) -> Held {
    std::thread::sleep(Duration::from_secs(2));
    // A new connection has those that were closed put away.
    let mut client = running.client();
    client.ask::<Status>(&Request::Status).unwrap().unwrap();
    Held::of(running.child.id())
}
