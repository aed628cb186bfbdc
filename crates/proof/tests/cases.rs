//! Scripts written by hand, and those that random tests once failed with: both tiers agree about every frame they name.
//! `MOONHOOK_CASE=TEXT` runs those only whose path contains TEXT.
//!
//! They and the examples are accepted within the time that a person may wait for.

use moonhook_install::frame_max_linear;
use moonhook_proof::cases::Outcome;
use moonhook_proof::times::Times;
use moonhook_proof::{Pair, cases, host, ledger};
use std::path::{Path, PathBuf};

/// The folder of the cases that need all of the language at packet time. Where the compiler has it, this is a folder like
/// the others: they run in real Lua only as long as its name stands here.
const USER_ONLY: Option<&str> = None;

fn scripts(folder: &str, at_least: usize) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut scripts = cases::scripts(&folder);
    assert!(scripts.len() >= at_least, "{} has {} scripts only", folder.display(), scripts.len());
    if let Ok(part) = std::env::var("MOONHOOK_CASE") {
        scripts.retain(|path| path.to_string_lossy().contains(&part));
    }
    scripts
}

fn is_user_only(path: &Path) -> bool {
    USER_ONLY.is_some_and(|folder| path.to_string_lossy().contains(&format!("/tests/{folder}/")))
}

fn report(count: usize, Outcome { failures, frames, .. }: &Outcome) {
    println!("{count} scripts, {frames} frames");
    assert!(failures.is_empty(), "{} of {count} differ:\n\n{}", failures.len(), failures.join("\n\n"));
}

fn run(folder: &str, at_least: usize) -> Option<Outcome> {
    if !host::kernel_available("differential cases") {
        return None;
    }
    let mut scripts = scripts(folder, at_least);
    scripts.retain(|path| !is_user_only(path));
    let outcome = cases::run_all(&scripts);
    report(scripts.len(), &outcome);
    in_time(&outcome.times);
    Some(outcome)
}

fn in_time(times: &Times) {
    print!("{times}");
    let slow = times.too_long();
    assert!(slow.is_empty(), "too slow to compile and load:\n{}", slow.join("\n"));
}

/// They agree, and cost what is recorded.
#[test]
fn cases_agree() {
    let chosen = ["MOONHOOK_CASE", "MOONHOOK_FORM"].iter().any(|name| std::env::var_os(name).is_some());
    let Some(outcome) = run("cases", 10).filter(|_| !chosen) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let name = |path: &Path| path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().into_owned();
    let costs: Vec<_> = outcome.costs.iter().map(|(path, cost)| (name(path), *cost)).collect();
    ledger::compare("cases", ledger::MOST_VERIFIED_OF_CASE, &costs);
}

/// Handlers that are too long for code of their own are interpreted: what the language is, and what it does with shared tables and
/// variables, is the same there.
#[test]
fn cases_agree_in_compact_code() {
    if !host::kernel_available("differential cases in compact code") {
        return;
    }
    for (folder, at_least) in [
        ("cases/general", 50),
        ("cases/shared_general", 3),
        ("cases/shared_counts", 3),
        ("cases/tables", 5),
        ("cases/data", 5),
    ] {
        let mut scripts = scripts(folder, at_least);
        scripts.retain(|path| !is_user_only(path) && !has_limit(path) && cases::is_in_part(path));
        report(scripts.len(), &cases::run_all_compact(&scripts));
    }
}

/// What handlers do with packets is the same at tc, where packets are something else to the kernel.
#[test]
fn cases_agree_at_tc() {
    agree_at("tc", 0, &cases::AT_TC);
}

/// The same where packets begin with an IP header, are copied and cannot be changed.
#[test]
fn cases_agree_at_control_groups() {
    agree_at("control groups", 1, &cases::AT_CGROUP);
}

#[test]
fn cases_agree_at_netfilter() {
    agree_at("netfilter", 2, &cases::AT_NETFILTER);
}

#[test]
fn cases_agree_where_rules_ask() {
    agree_at("match", 3, &cases::AT_MATCH);
}

#[test]
fn cases_agree_at_sockets() {
    agree_at("sockets", 4, &cases::AT_SOCKET);
}

/// Where only a part of the cases is run, it is another one at each of the hooks, which have numbers below 5.
fn agree_at(hook: &str, number: u64, elsewhere: &cases::Elsewhere) {
    if !host::kernel_available(&format!("differential cases at {hook}")) {
        return;
    }
    let mut all = Vec::new();
    for (folder, at_least) in [
        ("cases/addresses", 5),
        ("cases/data", 5),
        ("cases/eclat", 1),
        ("cases/errors", 5),
        ("cases/flows", 2),
        ("cases/lengths", 3),
        ("cases/output", 5),
        ("cases/packet", 5),
        ("cases/protocols", 5),
        ("cases/shared", 5),
        ("cases/strings", 5),
        ("cases/verifier", 5),
        ("cases/writes", 3),
        ("cases/general", 50),
        ("cases/shared_general", 3),
    ] {
        let mut scripts = scripts(folder, at_least);
        scripts
            .retain(|path| cases::is_in_part_of(path, (number, 5)) && !has_limit(path) && !is_too_long(path));
        all.append(&mut scripts);
    }
    report(all.len(), &cases::run_all_at(&all, elsewhere));
}

/// Whether the case has frames that the kernel does not run as packets of the network stack.
fn is_too_long(path: &Path) -> bool {
    cases::named_frames(path).is_ok_and(|all| all.iter().any(|(_, frame)| frame.len() > frame_max_linear()))
}

/// Whether the case cannot be general code, or is a known fault.
fn has_limit(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| line.starts_with("-- general: ") || line.starts_with("-- fails: "))
}

#[test]
fn examples_are_accepted_in_time() {
    if !host::kernel_available("the examples' time") {
        return;
    }
    let mut times = Times::default();
    for path in cases::scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")) {
        let pair =
            Pair::in_both_forms(&path, false).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        times.add_pair(&path.to_string_lossy(), &pair);
    }
    in_time(&times);
}

#[test]
fn regressions_agree() {
    run("regressions", 60);
}

/// A case that both tiers could agree about by chance only proves nothing.
#[test]
fn cases_of_the_language_can_be_compared() {
    let scripts = scripts("cases/general", 10);
    report(scripts.len(), &cases::check_all(&scripts));
}
