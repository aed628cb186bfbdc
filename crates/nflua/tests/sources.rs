//! The sources in C compile without a warning, with whatever versions of the headers are there.

mod common;

use common::{skipped, sources};
use std::process::Command;

const FLAGS: &[&str] =
    &["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-c", "-o", "/dev/null"];

/// Whether there is a compiler, and the header is there.
fn has_header(test: &str, flags: &[String], header: &str, package: &str) -> bool {
    let file = tempfile::Builder::new().suffix(".c").tempfile().expect("a file");
    std::fs::write(file.path(), format!("#include <{header}>\n")).expect("it is written");
    let probe = Command::new("cc").args(flags).arg("-fsyntax-only").arg(file.path()).output();
    let is_there = probe.is_ok_and(|probe| probe.status.success());
    if !is_there {
        skipped(test, &format!("{header} is not there; install gcc and {package}"));
    }
    is_there
}

fn compiles(source: &str, flags: &[String]) {
    let compiled = Command::new("cc").args(FLAGS).args(flags).arg(sources().join(source)).output();
    let compiled = compiled.expect("cc runs");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{source} with {flags:?}: {said}");
}

#[test]
fn plugins_compile_without_warnings() {
    if !has_header("plugins_compile_without_warnings", &[], "xtables.h", "libxtables-dev") {
        return;
    }
    for generation in ["2019", "2020"] {
        for source in ["libxt_lua.c", "libxt_LUA.c", "libipt_bpf.c"] {
            compiles(source, &[format!("-DGENERATION={generation}")]);
        }
    }
}

fn module_compiles(test: &str, version: &str) {
    let flags = [format!("-I/usr/include/lua{version}")];
    if has_header(test, &flags, "lauxlib.h", &format!("liblua{version}-dev")) {
        ["nflua.c", "link.c", "control.c", "data.c"].iter().for_each(|source| compiles(source, &flags));
    }
}

#[test]
fn the_module_compiles_for_lua_5_3() {
    module_compiles("the_module_compiles_for_lua_5_3", "5.3");
}

#[test]
fn the_module_compiles_for_lua_5_4() {
    module_compiles("the_module_compiles_for_lua_5_4", "5.4");
}
