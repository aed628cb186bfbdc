//! What tests of packages share.

use moonhook_packages::{Built, PackageError, Settings, build};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Whether there is a compiler; says so if not, or fails under `MOONHOOK_REQUIRE_KERNEL=1`.
pub fn has_clang(test: &str) -> bool {
    let is_there =
        |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let named = std::env::var("MOONHOOK_CLANG").unwrap_or_default();
    let names =
        ["clang".to_string(), named].into_iter().chain((14..=19).map(|number| format!("clang-{number}")));
    let found = names.into_iter().any(|name| !name.is_empty() && is_there(&name));
    if !found {
        let required = std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_some_and(|value| value == "1");
        assert!(!required, "{test}: there is no clang");
        skipped(test, "there is no clang");
    }
    found
}

/// Compiles a file without definitions.
#[allow(dead_code)]
pub fn plainly(source: &Path, cache: &Path) -> Result<Built, PackageError> {
    build(source, &Settings { defines: &[], includes: &[], cache })
}

/// Says that a test cannot run here, also to the file that collects such tests.
#[allow(dead_code)]
pub fn skipped(test: &str, reason: &str) {
    println!("skipped: {test}: {reason}");
    let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| writeln!(file, "{test}: {reason}"))
        .expect("MOONHOOK_SKIPPED names a file that can be written");
}
