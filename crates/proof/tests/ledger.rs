//! What examples and the scripts of the contest cost, against `tests/ledger`; and that a script in Lunatik's style costs what the
//! plain one does. The cases are compared where they run (`tests/cases.rs`).

use moonhook_proof::ledger::{self, Entry, MOST_VERIFIED};
use moonhook_proof::{cases, host};
use std::path::{Path, PathBuf};

/// Measures the scripts of a folder of the repository.
fn compare(folder: &str, ledger: &str) {
    if !host::kernel_available("the ledger") {
        return;
    }
    let scripts = cases::scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder));
    let measure = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entry = Entry::measure(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, entry)
    };
    ledger::compare(ledger, MOST_VERIFIED, &scripts.iter().map(measure).collect::<Vec<_>>());
}

#[test]
fn examples_cost_what_is_recorded() {
    compare("examples", "examples");
}

#[test]
fn scripts_of_the_contest_cost_what_is_recorded() {
    compare("bench/scripts", "bench");
}

/// What two cases of the folder `style` cost.
fn of_style(names: [&str; 2]) -> [Entry; 2] {
    names.map(|name| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/style").join(name);
        Entry::measure(&script).unwrap_or_else(|error| panic!("{name}: {error}"))
    })
}

#[test]
fn closures_and_accessors_cost_nothing() {
    if !host::kernel_available("closures and accessors") {
        return;
    }
    let [plain, accessors] = of_style(["plain_offsets.lua", "accessors.lua"]);
    println!("plain {plain:?}, with accessors {accessors:?}");
    assert!(accessors.instructions * 10 <= plain.instructions * 11, "{accessors:?} against {plain:?}");
    assert!(accessors.verified <= plain.verified * 2, "{accessors:?} against {plain:?}");
}

#[test]
fn layouts_cost_nothing() {
    if !host::kernel_available("layouts") {
        return;
    }
    let [plain, layouts] = of_style(["layout_offsets.lua", "layouts.lua"]);
    println!("plain {plain:?}, with layouts {layouts:?}");
    assert!(layouts.instructions <= plain.instructions, "{layouts:?} against {plain:?}");
    assert!(layouts.verified <= plain.verified, "{layouts:?} against {plain:?}");
}
