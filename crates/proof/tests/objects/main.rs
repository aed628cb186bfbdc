//! C objects in scripts: what programs do with them in the kernel, in both forms, is what the emulator does in the user tier.
//!
//! `MOONHOOK_HIKE` is a folder with checkouts of HIKe's repositories (`owner+name`); without it what is about those is skipped.

mod arguments;
mod checkouts;
mod configured;
mod hostile;
mod in_lua;
mod offsets;
mod per_cpu;
mod refused;

use moonhook_diagnostic::Diagnostic;
use moonhook_engine::{Folders, RunningKernel};
use moonhook_load::Options;
use moonhook_packages::{Settings, Sources};
use moonhook_proof::{Pair, ProofError, corpus, host, random::Random};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder with the scripts of these tests, and with what has to be compiled.
struct Folder(tempfile::TempDir);

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects")
}

impl Folder {
    fn new() -> Folder {
        let folder = tempfile::tempdir().expect("there is room");
        for entry in std::fs::read_dir(here()).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_file() {
                std::fs::copy(&path, folder.path().join(entry.file_name())).expect("there is room");
            }
        }
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles a source beside it.
    fn compile(&self, name: &str) {
        let cache = self.path("cache");
        let settings = Settings { defines: &[], includes: &[], cache: &cache };
        let built = moonhook_packages::build(&self.path(&format!("{name}.bpf.c")), &settings);
        let built = built.unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
        std::fs::copy(built.object, self.path(&format!("{name}.bpf.o"))).expect("there is room");
    }
}

/// What load time may use: the packages of these tests.
pub fn options(folders: Vec<PathBuf>, aliases: Vec<(String, Vec<String>)>) -> Options {
    Options {
        kernel: Arc::new(RunningKernel),
        packages: Arc::new(Folders::new(Sources { folders, aliases })),
        defines: vec![("DEVNAME".into(), "eth0".into())],
        ..Options::default()
    }
}

fn own_options() -> Options {
    options(vec![here().join("packages")], vec![])
}

/// Runs frames of all kinds through both tiers, in both forms.
pub fn run(script: &Path, options: &Options, count: usize) -> Result<usize, ProofError> {
    let mut pair = Pair::with_options(script, options)?;
    if let Some(error) = pair.take_refused() {
        return Err(error);
    }
    let frames = corpus::damaged(&mut Random::new(14), count);
    for (name, frame) in &frames {
        pair.run_named(frame, || name.clone())?;
    }
    Ok(frames.len())
}

#[test]
fn functions_and_maps_of_an_object_do_in_user_space_what_they_do_in_the_kernel() -> Result<(), ProofError> {
    if !host::kernel_available("objects") {
        return Ok(());
    }
    let folder = Folder::new();
    folder.compile("meter");
    run(&folder.path("meter.lua"), &own_options(), 200).map(|_| ())
}

#[test]
fn functions_of_flows_have_the_maps_of_objects() -> Result<(), ProofError> {
    if !host::kernel_available("functions of flows with objects") {
        return Ok(());
    }
    let folder = Folder::new();
    folder.compile("meter");
    run(&folder.path("flows.lua"), &own_options(), 300).map(|_| ())
}

#[test]
fn chains_call_programs_in_c_and_in_lua() -> Result<(), ProofError> {
    if !host::kernel_available("chains with programs") {
        return Ok(());
    }
    let folder = Folder::new();
    run(&folder.path("chain.lua"), &own_options(), 300).map(|_| ())
}

#[test]
fn a_script_of_eclat_is_started_by_a_loader() -> Result<(), ProofError> {
    if !host::kernel_available("loaders") {
        return Ok(());
    }
    let folder = Folder::new();
    run(&folder.path("loader.eclat"), &own_options(), 300).map(|_| ())
}

#[test]
fn a_verdict_ends_the_handlers_whatever_catches_errors() -> Result<(), ProofError> {
    if !host::kernel_available("verdicts within pcall") {
        return Ok(());
    }
    let folder = Folder::new();
    run(&folder.path("ends.lua"), &own_options(), 300).map(|_| ())
}

#[test]
fn room_before_a_packet_is_used_up() -> Result<(), ProofError> {
    if !host::kernel_available("room before packets") {
        return Ok(());
    }
    let folder = Folder::new();
    run(&folder.path("room.lua"), &own_options(), 300).map(|_| ())
}

#[test]
fn only_a_call_starts_a_chain() -> Result<(), ProofError> {
    if !host::kernel_available("answers of loaders") {
        return Ok(());
    }
    let folder = Folder::new();
    let script = folder.path("answers.eclat");
    run(&script, &own_options(), 300)?;
    // Every size of a number, in every way in which the loader gives or starts it.
    let mut pair = Pair::with_options(&script, &own_options())?;
    for [first, second] in (0..64).flat_map(|first| (0..8).map(move |second| [first, second])) {
        let frame = [&[first, second][..], &[0; 60]].concat();
        pair.run_named(&frame, || format!("{first} {second}"))?;
    }
    Ok(())
}

#[test]
fn what_is_exported_is_the_program() -> Result<(), ProofError> {
    if !host::kernel_available("exported programs") {
        return Ok(());
    }
    let folder = Folder::new();
    run(&folder.path("exported.eclat"), &own_options(), 20).map(|_| ())
}

#[test]
fn both_tiers_refuse_entries_that_do_not_fit() {
    let folder = Folder::new();
    folder.compile("meter");
    // What scripts of eCLAT list is counted at load time; what Lua assigns may replace what was there.
    let script = |count: usize| {
        let text = format!(
            "local own = require('bpf').object('meter.bpf.o')\nfor key = 1, {count} do own.maps.hits[key] = {{packets = key}} end\n\
             require('xdp').attach(function(pkt) own.count(pkt, 1) end)\n"
        );
        std::fs::write(folder.path("a.lua"), text).expect("there is room");
        moonhook_load::load(&[folder.path("a.lua")], &own_options()).expect("it is a script")
    };
    let user = |count| moonhook_user::UserTier::new(script(count), Default::default()).map(|_| ());
    assert!(user(4).is_ok());
    let error = user(5).expect_err("the map has 4 entries");
    assert_eq!(error.code(), "MH0611", "{error}");
    if host::kernel_available("entries that do not fit") {
        let outcome = Pair::with_options(&folder.path("a.lua"), &own_options());
        assert_eq!(
            outcome.err().and_then(|error| error.code().map(str::to_string)).as_deref(),
            Some("MH0508")
        );
    }
}

#[test]
fn objects_under_other_licences_are_refused() {
    let folder = Folder::new();
    folder.compile("proprietary");
    let text = "local o = require 'bpf'.object 'proprietary.bpf.o'";
    std::fs::write(folder.path("a.lua"), text).expect("there is room");
    let error = moonhook_load::load(&[folder.path("a.lua")], &own_options()).err().expect("it is refused");
    assert_eq!(error.diagnostic().code, "MH0314");
}

#[test]
fn programs_need_packages() {
    let folder = Folder::new();
    let text = "from programs.own import count\ndef main():\n  count()\n";
    std::fs::write(folder.path("a.eclat"), text).expect("there is room");
    let error = moonhook_load::load(&[folder.path("a.eclat")], &Options::default()).err();
    assert_eq!(error.expect("it is refused").diagnostic().code, "MH0312");
}

/// In structures with other parts behind them, and in arrays of them.
#[test]
fn maps_are_filled_with_addresses() -> Result<(), ProofError> {
    if !host::kernel_available("addresses in maps") {
        return Ok(());
    }
    let folder = Folder::new();
    let mut pair = Pair::with_options(&folder.path("addresses.eclat"), &own_options())?;
    assert!(pair.take_refused().is_none());
    let seen = pair.run(&[0; 64])?;
    assert_eq!(seen.data[..5], [0xfc, 1, 7, 0xfd, 2]);
    Ok(())
}

/// What is wrong with a script that is loaded with the packages of these tests.
fn refused(name: &str, text: &str) -> Diagnostic {
    let folder = Folder::new();
    folder.compile("meter");
    std::fs::write(folder.path(name), text).expect("there is room");
    match moonhook_load::load(&[folder.path(name)], &own_options()) {
        Ok(_) => panic!("{text} is taken"),
        Err(error) => error.diagnostic(),
    }
}

#[test]
fn what_cannot_be_had_of_objects_is_said_with_its_line() {
    let cases = [
        ("a.eclat", "from programs.own import none\ndef main():\n  none()\n", "MH0912", 1),
        ("a.eclat", "from programs.no import count\ndef main():\n  count()\n", "MH0911", 1),
        ("a.eclat", "from lua.limits import none\ndef main():\n  none()\n", "MH0318", 1),
        ("a.eclat", "from lua.nowhere import none\ndef main():\n  none()\n", "MH0318", 1),
        ("a.eclat", "def other():\n  return 1\n", "MH0315", 0),
        (
            "a.eclat",
            "from loaders.basic import by_type\nby_type[none] = { (1): (2) }\ndef a():\n  pass\n",
            "MH0310",
            2,
        ),
        (
            "a.eclat",
            "from loaders.basic import by_type\n\nby_type[chains] = { (1): (a) }\ndef a():\n  pass\n",
            "MH0316",
            3,
        ),
        (
            "a.eclat",
            "from loaders.basic import by_type\nby_type[chains] = { (70000, 1, 0): (a) }\ndef a():\n  pass\n",
            "MH0316",
            2,
        ),
        ("a.eclat", "from programs.own import count\ndef main():\n  u64: a = count[hits][1]\n", "MH0316", 3),
        ("a.eclat", "from programs.own import count\ndef main():\n  u64: a = count[none][1]\n", "MH0310", 3),
        ("a.eclat", "from loaders.own import count\ndef a():\n  pass\n", "MH0313", 1),
        ("a.eclat", "from programs.basic import by_type\ndef a():\n  by_type()\n", "MH0313", 1),
        ("a.eclat", "from programs.own import plain\ndef a():\n  plain(1)\n", "MH0313", 1),
        ("a.lua", "local m = require 'bpf'.object 'meter.bpf.o'\n\nlocal f = m.nowhere\n", "MH0317", 0),
        ("a.lua", "local m = require 'bpf'.object 'meter.bpf.o'\nlocal f = m.missing\n", "MH0317", 0),
        ("a.lua", "local m = require 'bpf'.object 'meter.bpf.o'\nlocal f = m.maps.missing\n", "MH0317", 0),
        ("a.lua", "local m = require 'bpf'.object 'meter.lua'\n", "MH0901", 0),
    ];
    for (name, text, code, line) in cases {
        let diagnostic = refused(name, text);
        assert_eq!(diagnostic.code, code, "{text}\n{}", diagnostic.render(false));
        assert!(diagnostic.help.is_some(), "{text}");
        assert!(!diagnostic.message.contains("traceback"), "{text}\n{}", diagnostic.render(false));
        let at = diagnostic.place.as_ref().map_or(0, |place| place.line);
        assert_eq!(at, line, "{text}\n{}", diagnostic.render(false));
    }
}
