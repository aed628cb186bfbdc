//! The layers: which crate may know which. A stage knows what it reads and writes, not who calls it.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Crates, each with those that it may use. Behind a stage stands what it knows besides the types between stages.
const LAYERS: &[(&str, &[&str])] = &[
    // The types between the stages, and facts.
    ("btf", &[]),
    ("diagnostic", &[]),
    ("hook", &[]),
    ("library", &[]),
    ("replace", &[]),
    ("schema", &["library"]),
    ("eclat", &["diagnostic"]),
    ("flows", &["schema"]),
    ("updates", &[]),
    ("link", &["btf", "diagnostic"]),
    ("emulate", &["link"]),
    ("snapshot", &["btf", "diagnostic", "eclat", "flows", "hook", "link", "schema"]),
    ("ir", &["btf", "diagnostic", "schema"]),
    // What stages and front ends share.
    ("packet", &["hook", "ir"]),
    // The stages.
    (
        "load",
        &["btf", "diagnostic", "eclat", "flows", "hook", "library", "link", "schema", "snapshot", "updates"],
    ),
    ("runtime", &["ir", "library", "load", "snapshot"]),
    (
        "specialise",
        &[
            "btf",
            "diagnostic",
            "eclat",
            "flows",
            "hook",
            "ir",
            "library",
            "link",
            "packet",
            "runtime",
            "schema",
            "snapshot",
        ],
    ),
    ("baseline", &["diagnostic", "hook", "ir", "library", "specialise", "runtime", "schema", "snapshot"]),
    ("passes", &["hook", "ir"]),
    ("emit", &["btf", "diagnostic", "hook", "ir", "schema"]),
    ("install", &["btf", "diagnostic", "hook"]),
    ("queue", &["diagnostic", "hook"]),
    ("lunatik", &["library"]),
    ("packages", &["btf", "diagnostic", "link", "replace"]),
    // What is around them.
    ("capture", &["diagnostic", "replace"]),
    ("user", &["diagnostic", "eclat", "emulate", "hook", "library", "link", "load", "schema", "snapshot"]),
    ("netfilter", &["hook", "install", "load", "lunatik", "queue", "user"]),
    ("records", &["hook", "ir", "library", "schema", "snapshot"]),
    ("control", &["diagnostic", "flows", "hook", "install", "ir", "load", "schema", "snapshot"]),
    ("daemon", &["diagnostic", "schema"]),
    // Those that call them.
    (
        "engine",
        &[
            "baseline",
            "btf",
            "control",
            "diagnostic",
            "emit",
            "flows",
            "hook",
            "install",
            "ir",
            "link",
            "load",
            "packages",
            "specialise",
            "passes",
            "records",
            "schema",
            "snapshot",
        ],
    ),
    (
        "nflua",
        &[
            "control",
            "diagnostic",
            "engine",
            "hook",
            "install",
            "load",
            "queue",
            "records",
            "replace",
            "schema",
            "snapshot",
        ],
    ),
    (
        "session",
        &[
            "btf",
            "control",
            "daemon",
            "diagnostic",
            "engine",
            "flows",
            "hook",
            "install",
            "ir",
            "link",
            "load",
            "queue",
            "records",
            "replace",
            "schema",
            "snapshot",
            "user",
        ],
    ),
    (
        "serve",
        &[
            "btf",
            "daemon",
            "diagnostic",
            "eclat",
            "engine",
            "hook",
            "install",
            "link",
            "load",
            "packages",
            "records",
            "replace",
            "session",
        ],
    ),
];

/// Who may use all of them, and is used by nobody: people's and tests' ways in.
const CLIENTS: &[&str] = &["bench", "cli", "proof"];

/// What each crate of the workspace uses of the others, but for tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo answers in JSON");
    let short = |name: &Value| name.as_str()?.strip_prefix("moonhook-").map(str::to_string);
    let of_package = |package: &Value| {
        let normal = package["dependencies"].as_array()?.iter().filter(|used| used["kind"].is_null());
        Some((short(&package["name"])?, normal.filter_map(|used| short(&used["name"])).collect()))
    };
    metadata["packages"].as_array().into_iter().flatten().filter_map(of_package).collect()
}

#[test]
fn crates_use_only_those_below_them() {
    let all = dependencies();
    assert!(all.contains_key("specialise") && all["specialise"].contains("ir"), "{all:?}");
    for (name, used) in &all {
        if CLIENTS.contains(&name.as_str()) {
            continue;
        }
        let (_, allowed) = LAYERS.iter().find(|(layer, _)| layer == name).unwrap_or_else(|| {
            panic!("crate {name} has no row here: say which crates it may use");
        });
        for other in used {
            assert!(allowed.contains(&other.as_str()), "{name} uses {other}, which it must not know");
        }
    }
}

#[test]
fn a_row_names_only_rows_above_it() {
    for (number, (name, allowed)) in LAYERS.iter().enumerate() {
        let above: Vec<&str> = LAYERS[..number].iter().map(|(name, _)| *name).collect();
        for other in *allowed {
            assert!(above.contains(other), "{name} stands above {other}");
        }
    }
}
