//! Cases: scripts that name the frames to be run, and what happens to them in both tiers.
//!
//! A case is a Lua file whose first lines are comments with `-- frames:` and descriptions of frames ([`crate::frames`]),
//! separated by spaces; there can be several such lines. The frames run in that order, so state is kept between them. A case
//! during whose frames nothing can be seen (no line, no error, no verdict but PASS, no changed byte) shows nothing and is
//! an error itself.
//!
//! Every case runs in the form that it gets and, beside that, in general code. Where general code has a limit of its own that the
//! documentation names, the case has a line `-- general: TEXT`: it must fail in general code, with TEXT in the error.
//!
//! A case with a line `-- fails: TEXT` is a known fault: it must fail, and the error must contain TEXT. When the fault is mended
//! the line has to go.

use crate::ledger::Entry;
use crate::times::Times;
use crate::{Pair, ProofError, check, corpus, frames};
use moonhook_engine::Form;
use moonhook_install::frame_max_linear;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The example that has to be given keys first, and functions that are sent to it: tests/e2e/flow_updates.sh runs them.
const NEEDS_KEYS: &str = "flow_updates";

/// The scripts below `folder`, at any depth, in the order of their paths.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let script = |path: PathBuf| match path.extension() {
        _ if path.ends_with(NEEDS_KEYS) => Vec::new(),
        _ if path.is_dir() => scripts(&path),
        Some(extension) if extension == "lua" => vec![path],
        _ => Vec::new(),
    };
    paths.into_iter().flat_map(script).collect()
}

/// The frames that a script's header names.
///
/// # Errors
/// `Case`.
pub fn named_frames(path: &Path) -> Result<Vec<(String, Vec<u8>)>, ProofError> {
    let problem = |problem: String| ProofError::Case { path: path.to_path_buf(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    let header = text.lines().take_while(|line| line.starts_with("--"));
    let descriptions =
        header.filter_map(|line| line.strip_prefix("-- frames:")).flat_map(str::split_whitespace);
    let mut all = Vec::new();
    for description in descriptions {
        all.extend(frames::described(description).map_err(problem)?);
    }
    if all.is_empty() {
        return Err(problem("its header names no frames".to_string()));
    }
    Ok(all)
}

/// What a case that succeeded shows.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    pub frames: usize,
    /// What it took to compile and load each of its programs, and their forms.
    pub times: Vec<(Duration, &'static str)>,
    /// What its program costs; `None` if it was not compiled.
    pub cost: Option<Entry>,
}

/// Runs a case.
///
/// # Errors
/// The first difference, or why there could be none; for a known fault, that it is not there any more.
pub fn run(path: &Path) -> Result<Ran, ProofError> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let told = |what: &str| text.lines().find_map(|line| line.strip_prefix(what));
    if let Some(fault) = told("-- fails: ") {
        return fails(compare(path, true), fault, path);
    }
    match told("-- general: ") {
        Some(limit) if std::env::var_os("MOONHOOK_FORM").is_none() => {
            fails(general(path), limit, path)?;
            compare(path, false)
        }
        _ => compare(path, is_in_part(path)),
    }
}

/// Whether the case runs in general code as well: with `MOONHOOK_GENERAL_PART=I/N` only every N-th does, from the I-th on. Other kernels
/// are emulated, where there is no time for all.
pub fn is_in_part(path: &Path) -> bool {
    is_in_part_of(path, (0, 1))
}

/// The same of one of several parts of what [`is_in_part`] chooses: its number and theirs.
pub fn is_in_part_of(path: &Path, (number_of_part, parts): (u64, u64)) -> bool {
    let part = std::env::var("MOONHOOK_GENERAL_PART").unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().ok();
    let numbers = part.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?)));
    let Some((i, n)) = numbers.filter(|(_, n)| *n > 0) else { return true };
    let sum: u64 =
        path.file_name().unwrap_or_default().as_encoded_bytes().iter().map(|byte| u64::from(*byte)).sum();
    sum % (n * parts) == i * parts + number_of_part
}

/// What a case that must fail with `fault` gave.
fn fails(outcome: Result<Ran, ProofError>, fault: &str, path: &Path) -> Result<Ran, ProofError> {
    match outcome {
        Err(error) if error.to_string().contains(fault) => Ok(Ran::default()),
        Err(error) => Err(error),
        Ok(_) => {
            let problem = format!("it does not fail any more with \"{fault}\": remove that line");
            Err(ProofError::Case { path: path.to_path_buf(), problem })
        }
    }
}

/// In the form that the case gets and, if that is wanted too, in general code.
fn compare(path: &Path, both: bool) -> Result<Ran, ProofError> {
    let frames = named_frames(path)?;
    let frags = frames.iter().any(|(_, frame)| frame.len() > frame_max_linear());
    let pair = if both { Pair::in_both_forms(path, frags)? } else { Pair::new(path)? };
    agree(path, pair, &frames)
}

fn general(path: &Path) -> Result<Ran, ProofError> {
    agree(path, Pair::in_form(path, Some(Form::General))?, &named_frames(path)?)
}

/// Another hook than XDP for cases: what stands before a script's first line of code so that what it registers for XDP is for that
/// one, with verdicts of the same meaning.
pub struct Elsewhere(&'static str);

impl Elsewhere {
    /// What stands before the script.
    pub fn prefix(&self) -> &'static str {
        self.0
    }
}

pub static AT_TC: Elsewhere = Elsewhere(
    "do local tc = require 'tc' package.loaded.xdp = { attach = tc.ingress, detach = tc.detach } \
    package.loaded['linux.xdp'] = { ABORTED = 2, DROP = 2, PASS = -1, TX = 0, REDIRECT = 2 } end ",
);

/// Packets without Ethernet header, which can only be read.
pub const AT_CGROUP: Elsewhere = Elsewhere(
    "do local group = require 'cgroup' local ingress = group.ingress \
    package.loaded.xdp = { attach = function(f) ingress('/', f) end, detach = group.detach } \
    package.loaded['linux.xdp'] = { ABORTED = 0, DROP = 0, PASS = 1, TX = 0, REDIRECT = 0 } end ",
);

/// The same, through a dynptr.
pub const AT_NETFILTER: Elsewhere = Elsewhere(
    "do local netfilter = require 'netfilter' local register, detach = netfilter.register, netfilter.detach \
    package.loaded.xdp = { attach = function(f) register { pf = 2, hooknum = 1, hook = f } end, detach = detach } \
    package.loaded['linux.xdp'] = { ABORTED = 0, DROP = 0, PASS = 1, TX = 0, REDIRECT = 0 } end ",
);

/// The same for packets that a rule asks about.
pub const AT_MATCH: Elsewhere = Elsewhere(
    "do local match = require 'match' package.loaded.xdp = match \
    package.loaded['linux.xdp'] = { ABORTED = 1, DROP = 1, PASS = 0, TX = 1, REDIRECT = 1 } end ",
);

/// Whole frames, which can only be read.
pub const AT_SOCKET: Elsewhere = Elsewhere(
    "do local socket = require 'socket' package.loaded.xdp = { attach = socket.filter, detach = socket.detach } \
    package.loaded['linux.xdp'] = { ABORTED = 1, DROP = 1, PASS = 0, TX = 1, REDIRECT = 1 } end ",
);

/// Runs a case with its handlers for XDP at another hook instead, in both forms.
///
/// # Errors
/// The first difference.
pub fn run_at(path: &Path, elsewhere: &Elsewhere) -> Result<Ran, ProofError> {
    let problem =
        |error: std::io::Error| ProofError::Case { path: path.to_path_buf(), problem: error.to_string() };
    let frames = named_frames(path)?;
    let text = std::fs::read_to_string(path).map_err(problem)?;
    let is_header = |line: &str| line.starts_with("--") || line.is_empty();
    let header: usize =
        text.split_inclusive('\n').take_while(|line| is_header(line.trim_end())).map(str::len).sum();
    let folder = tempfile::tempdir().map_err(problem)?;
    let script = folder.path().join(path.file_name().unwrap_or_default());
    let (header, code) = text.split_at(header);
    std::fs::write(&script, format!("{header}{}{code}", elsewhere.0)).map_err(problem)?;
    let chains = path.with_extension("eclat");
    if let (true, Some(name)) = (chains.exists(), chains.file_name()) {
        std::fs::copy(&chains, folder.path().join(name)).map_err(problem)?;
    }
    agree(path, Pair::in_both_forms(&script, false)?, &frames)
}

/// Runs a case in general code whose functions are interpreted.
///
/// # Errors
/// The first difference.
pub fn run_compact(path: &Path) -> Result<Ran, ProofError> {
    agree(path, Pair::in_compact_code(path)?, &named_frames(path)?)
}

fn agree(path: &Path, mut pair: Pair, frames: &[corpus::Named]) -> Result<Ran, ProofError> {
    // Functions of flows do not have the variables of handlers that are general code.
    let shares_variables = |error: &ProofError| error.code() == Some("MH0221");
    if let Some(error) = pair.take_refused().filter(|error| !shares_variables(error)) {
        return Err(error);
    }
    if let Some(reason) = pair.choice().and_then(|choice| choice.reason.as_ref()).filter(|reason| reason.bug)
    {
        return Err(ProofError::Case { path: path.to_path_buf(), problem: reason.to_string() });
    }
    let mut silent = true;
    for (name, frame) in frames {
        let seen = pair.run_named(frame, || name.clone())?;
        silent &= seen.nothing_happened(frame);
        // Where each tier stopped is not comparable, and so is what the script kept.
        if seen.ran_out_of_budget() {
            break;
        }
    }
    if silent {
        let problem = "nothing could be seen of any frame".to_string();
        return Err(ProofError::Case { path: path.to_path_buf(), problem });
    }
    Ok(Ran { frames: frames.len(), times: pair.times(), cost: Some(Entry::of(&pair)) })
}

/// Runs a case in real Lua only, and makes sure that what it shows depends on nothing that Lua leaves open; gives the number
/// of its frames.
///
/// # Errors
/// What is wrong with it.
pub fn check(path: &Path) -> Result<Ran, ProofError> {
    let frames = named_frames(path)?;
    let problem = |problem: String| ProofError::Case { path: path.to_path_buf(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| problem(error.to_string()))?;
    let bytes: Vec<Vec<u8>> = frames.iter().map(|(_, frame)| frame.clone()).collect();
    let all = check::examined(&text, &bytes, folder.path())
        .map_err(|(kind, message)| problem(format!("{kind}\n{message}")))?;
    if all.iter().zip(&bytes).all(|(seen, frame)| seen.nothing_happened(frame)) {
        return Err(problem("nothing could be seen of any frame".to_string()));
    }
    Ok(Ran { frames: frames.len(), ..Ran::default() })
}

/// What came of many cases.
#[derive(Debug, Default)]
pub struct Outcome {
    /// As a person reads them.
    pub failures: Vec<String>,
    pub frames: usize,
    /// What the programs cost that were compiled.
    pub costs: Vec<(PathBuf, Entry)>,
    /// What they took to compile and load.
    pub times: Times,
}

/// Runs many cases on all CPUs.
pub fn run_all(paths: &[PathBuf]) -> Outcome {
    all(paths, run)
}

/// As [`run_all`], by [`run_compact`].
pub fn run_all_compact(paths: &[PathBuf]) -> Outcome {
    all(paths, run_compact)
}

/// As [`run_all`], with handlers for XDP at another hook instead.
pub fn run_all_at(paths: &[PathBuf], elsewhere: &Elsewhere) -> Outcome {
    all(paths, |path| run_at(path, elsewhere))
}

/// As [`run_all`], in real Lua only.
pub fn check_all(paths: &[PathBuf]) -> Outcome {
    all(paths, check)
}

fn all(paths: &[PathBuf], run: impl Fn(&Path) -> Result<Ran, ProofError> + Sync) -> Outcome {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let outcome = std::sync::Mutex::new(Outcome::default());
    let worker = || {
        while let Some(path) = paths.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let ran = run(path);
            let mut outcome = outcome.lock().expect("no worker panics while it counts");
            match ran {
                Ok(Ran { frames, times, cost }) => {
                    outcome.frames += frames;
                    outcome.times.add(&path.to_string_lossy(), &times);
                    outcome.costs.extend(cost.map(|cost| (path.clone(), cost)));
                }
                Err(error) => outcome.failures.push(report(path, &error)),
            }
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let mut outcome = outcome.into_inner().expect("no worker panics while it counts");
    outcome.failures.sort();
    outcome.costs.sort();
    outcome
}

fn report(path: &Path, error: &ProofError) -> String {
    let log = error.log_end(25).map_or(String::new(), |log| format!("\n{log}"));
    format!("{}: {error}{log}", path.display())
}
