//! Measures the `moonhook` command itself: how long it compiles and loads, and what memory it keeps.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::Arguments;
use crate::contest::Builder;
use crate::error::Error;
use crate::process;
use crate::results::ToolResult;
use crate::rounds::Cost;
use crate::running::Running;
use crate::works;

/// What is measured here, for `--only`.
pub const TITLE: &str = "compile time and memory";

/// Each in a process of its own, as a person would run it.
const RUNS: usize = 21;
/// Time for what the command does after it has attached, before its memory is read.
const SETTLE: Duration = Duration::from_millis(500);

pub fn measure(arguments: &Arguments, builder: &Builder) -> Result<ToolResult, Error> {
    let script = arguments.bench.join("scripts/forty_lines.lua");
    let text =
        std::fs::read_to_string(&script).map_err(Error::system(format!("read {}", script.display())))?;
    let (resident, resident_peak) = memory(arguments, builder)?;
    let chain = chain(arguments, builder)?;
    Ok(ToolResult {
        lines: text.lines().count(),
        compile: times(&check(|| command(arguments, &["--no-kernel"], &script))?)?,
        compile_and_load: times(&check(|| command(arguments, &[], &script))?)?,
        chain: times(&chain)?,
        chain_verified: verified(&chain)?,
        resident,
        resident_peak,
    })
}

fn command(arguments: &Arguments, options: &[&str], script: &Path) -> Command {
    let mut command = Command::new(&arguments.moonhook);
    command.arg("check").args(options).arg("--json").arg(script);
    command
}

/// Of the chain with two levels. The first run has its programs compiled, and does not count.
fn chain(arguments: &Arguments, builder: &Builder) -> Result<Vec<Value>, Error> {
    let script = arguments.examples.join("ddos_two_levels.eclat");
    let command = || {
        let mut command = builder.moonhook("check");
        command.arg("--json").arg(&script);
        command
    };
    process::run(&mut command())?;
    check(command)
}

/// What `moonhook check --json` says, each time.
fn check(command: impl Fn() -> Command) -> Result<Vec<Value>, Error> {
    let run = |_| {
        let mut command = command();
        let output = process::run(&mut command)?;
        serde_json::from_str(&output)
            .map_err(|error| Error::Peer { contestant: process::shown(&command), message: error.to_string() })
    };
    (0..RUNS).map(run).collect()
}

/// In ms: what its stages took.
fn times(reports: &[Value]) -> Result<Cost, Error> {
    let times = |report| Some(sum(find(report, "timings_us")?)? / 1000.0);
    let samples: Option<Vec<f64>> = reports.iter().map(times).collect();
    Ok(Cost::of(&samples.ok_or_else(|| missing("timings_us"))?))
}

/// How many instructions the verifier has walked.
fn verified(reports: &[Value]) -> Result<u64, Error> {
    const NAME: &str = "verified_instructions";
    reports.last().and_then(|report| find(report, NAME)?.as_u64()).ok_or_else(|| missing(NAME))
}

fn missing(what: &str) -> Error {
    Error::Peer { contestant: "moonhook check".into(), message: format!("its answer has no `{what}`") }
}

/// The first value under `key`, at any depth.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            fields.get(key).or_else(|| fields.values().find_map(|field| find(field, key)))
        }
        Value::Array(items) => items.iter().find_map(|item| find(item, key)),
        _ => None,
    }
}

/// A number, or the sum of an object's numbers: its `total` if it has one.
fn sum(times: &Value) -> Option<f64> {
    let Value::Object(stages) = times else { return times.as_f64() };
    match stages.get("total") {
        Some(total) => total.as_f64(),
        None => stages.values().map(Value::as_f64).sum(),
    }
}

/// VmRSS and VmHWM, in KiB, of `moonhook run` with the longest list of names, on a veth.
fn memory(arguments: &Arguments, builder: &Builder) -> Result<(u64, u64), Error> {
    let work = works::table::all()
        .into_iter()
        .filter(|work| work.script == "sni_filter")
        .max_by_key(|work| work.list.len())
        .ok_or_else(|| Error::Peer { contestant: "moonhook run".into(), message: "no such work".into() })?;
    let script = builder.script(&work)?;
    let running = start(&arguments.moonhook, &script, builder.folder().join("run.log"))?;
    std::thread::sleep(SETTLE);
    resident(running.id())
}

const INTERFACE: &str = "mhbench0";

/// Becomes the command that follows, with a veth in its network namespace.
const WITH_VETH: &str = r#"ip link add mhbench0 type veth peer name mhbench1 && ip link set mhbench0 up &&
    ip link set mhbench1 up && exec "$@""#;

/// `moonhook run` in a network namespace of its own, which ends with it.
fn start(moonhook: &Path, script: &Path, log: PathBuf) -> Result<Running, Error> {
    // Each of these becomes the next, so that the child's process id is the command's.
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", WITH_VETH, "sh"]).arg(moonhook).args(["run", INTERFACE]).arg(script);
    let mut running = Running::start(&mut command, log)?;
    let pid = running.id().to_string();
    // False also while there is no such interface yet.
    running.wait_until(|| {
        let show = ["nsenter", "--net", "--target", &pid, "ip", "link", "show", "dev", INTERFACE];
        process::words(&show).is_ok_and(|link| link.contains("prog/xdp"))
    })?;
    Ok(running)
}

/// VmRSS and VmHWM, in KiB.
fn resident(pid: u32) -> Result<(u64, u64), Error> {
    let path = format!("/proc/{pid}/status");
    let file = std::fs::File::open(&path).map_err(Error::system(format!("open {path}")))?;
    let (mut resident, mut peak) = (None, None);
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        let kib = || line.split_whitespace().nth(1)?.parse().ok();
        match line.split(':').next() {
            Some("VmRSS") => resident = kib(),
            Some("VmHWM") => peak = kib(),
            _ => {}
        }
    }
    resident
        .zip(peak)
        .ok_or_else(|| Error::Peer { contestant: path, message: "says nothing about memory".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_and_summed() {
        let time = |text: &str| {
            sum(find(&serde_json::from_str(text).expect("JSON"), "timings_us").expect("has times"))
        };
        assert_eq!(time(r#"[{"file": "x", "timings_us": {"load": 100, "emit": 50.5}}]"#), Some(150.5));
        assert_eq!(time(r#"{"timings_us": {"load": 100, "emit": 50, "total": 170}}"#), Some(170.0));
        assert_eq!(time(r#"{"timings_us": 12}"#), Some(12.0));
        assert_eq!(time(r#"{"timings_us": {"load": "fast"}}"#), None);
    }
}
