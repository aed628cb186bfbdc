//! What a process keeps of functions that it has compiled changes nothing: a program is the same in a process that has compiled others as
//! in one that has not.

use moonhook_engine::{Form, Settings, compile};
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::PathBuf;
use std::process::Command;

/// Of different kinds: hooks, packets as strings, shared tables, more functions than the kernel takes.
const SCRIPTS: [&str; 5] =
    ["length_check.lua", "dns_filter.lua", "port_forward.lua", "word_count.lua", "top_talkers.lua"];

/// Has the script whose program is to be told, in a process of its own.
const ALONE: &str = "MOONHOOK_COMPILED_ALONE";

/// The bytes of a script's general code, as a number.
fn program(script: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(script);
    let settings = Settings { cpus: Some(2), form: Some(Form::General), ..Settings::default() };
    let loaded = moonhook_load::load(&[path], &settings.load).unwrap_or_else(|error| panic!("{error}"));
    let compiled = compile(&loaded.snapshot, &settings).unwrap_or_else(|error| panic!("{error}"));
    let mut hasher = DefaultHasher::new();
    hasher.write(&compiled.object.elf);
    format!("{script} {:016x}", hasher.finish())
}

#[test]
fn a_program_does_not_depend_on_what_was_compiled_before() {
    if let Ok(script) = std::env::var(ALONE) {
        println!("program {}", program(&script));
        return;
    }
    let first = SCRIPTS.map(program);
    assert_eq!(SCRIPTS.map(program), first, "compiled once more");
    for (script, known) in SCRIPTS.iter().zip(&first) {
        let this = std::env::current_exe().expect("the test has a path");
        let name = "a_program_does_not_depend_on_what_was_compiled_before";
        let output = Command::new(this).args([name, "--exact", "--nocapture"]).env(ALONE, script).output();
        let output = output.expect("the test can be run");
        let output = String::from_utf8_lossy(&output.stdout);
        assert!(output.contains(&format!("program {known}")), "{script} alone: {output}");
    }
}
