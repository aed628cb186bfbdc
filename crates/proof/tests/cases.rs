//! Scripts written by hand, and those that random tests once failed with: both tiers agree about every frame they name.
//! `MOONHOOK_CASE=TEXT` runs those only whose path contains TEXT.

use moonhook_proof::{cases, host};
use std::path::Path;

fn run(folder: &str, at_least: usize) {
    if !host::kernel_available("differential cases") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut scripts = cases::scripts(&folder);
    assert!(scripts.len() >= at_least, "{} has {} scripts only", folder.display(), scripts.len());
    if let Ok(part) = std::env::var("MOONHOOK_CASE") {
        scripts.retain(|path| path.to_string_lossy().contains(&part));
    }
    let (failures, frames) = cases::run_all(&scripts);
    println!("{} scripts, {frames} frames", scripts.len());
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n\n{}",
        failures.len(),
        scripts.len(),
        failures.join("\n\n")
    );
}

#[test]
fn cases_agree() {
    run("cases", 10);
}

#[test]
fn regressions_agree() {
    run("regressions", 0);
}
