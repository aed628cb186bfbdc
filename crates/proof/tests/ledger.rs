//! What examples cost, against `tests/ledger.json`; and that a script in Lunatik's style costs what the plain one does.

use moonhook_proof::ledger::{Entry, complaints};
use moonhook_proof::{cases, host};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn examples_cost_what_is_recorded() {
    if !host::kernel_available("the ledger") {
        return;
    }
    let scripts = cases::scripts(&repository().join("examples"));
    let measured: Vec<(String, Entry)> = scripts
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let entry = Entry::measure(path).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, entry)
        })
        .collect();
    let path = repository().join("tests/ledger.json");
    if std::env::var_os("MOONHOOK_BLESS").is_some_and(|value| value == "1") {
        let all: Map<String, Value> =
            measured.iter().map(|(name, entry)| (name.clone(), entry.to_json())).collect();
        let text = serde_json::to_string_pretty(&all).expect("numbers have a text");
        std::fs::write(&path, text + "\n").expect("the ledger can be written");
    }
    let text = std::fs::read_to_string(&path).expect("the ledger can be read");
    let recorded: Map<String, Value> = serde_json::from_str(&text).expect("the ledger is JSON");
    let complaints = complaints(&recorded, &measured);
    assert!(
        complaints.is_empty(),
        "{}\nMOONHOOK_BLESS=1 cargo test -p moonhook-proof --test ledger records what is now",
        complaints.join("\n")
    );
}

#[test]
fn closures_and_accessors_cost_nothing() {
    if !host::kernel_available("closures and accessors") {
        return;
    }
    let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/style").join(name);
    let measure =
        |name: &str| Entry::measure(&script(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (plain, accessors) = (measure("plain_offsets.lua"), measure("accessors.lua"));
    println!("plain {plain:?}, with accessors {accessors:?}");
    assert!(accessors.instructions * 10 <= plain.instructions * 11, "{accessors:?} against {plain:?}");
    assert!(accessors.verified <= plain.verified * 2, "{accessors:?} against {plain:?}");
}
