//! Scripts' programs, what their tables hold, and frames on two CPUs at once.

use moonhook_engine::tables;
use moonhook_engine::{Compiled, EngineError, Form, Settings};
use moonhook_install::{LoadOptions, Program};
use moonhook_ir::Module;
use moonhook_proof::{frames, host};
use moonhook_schema::Datum;
use std::os::fd::{AsRawFd, OwnedFd};

/// The program of a script's text, and its name.
pub fn loaded(text: &str) -> (Program, Module, String) {
    loaded_as(text, None)
}

pub fn loaded_as(text: &str, form: Option<Form>) -> (Program, Module, String) {
    loaded_with(text, &Settings { form, ..Settings::default() })
}

pub fn loaded_with(text: &str, settings: &Settings) -> (Program, Module, String) {
    let compiled = compiled(text, settings).unwrap_or_else(|error| panic!("{error}"));
    in_kernel(compiled)
}

pub fn compiled(text: &str, settings: &Settings) -> Result<Compiled, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("shared.lua");
    std::fs::write(&script, text).unwrap();
    let loaded = moonhook_load::load(&[script], &settings.load).unwrap_or_else(|error| panic!("{error}"));
    moonhook_engine::compile(&loaded.snapshot, settings)
}

pub fn in_kernel(compiled: Compiled) -> (Program, Module, String) {
    let program = moonhook_install::load(&compiled.object.elf, &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    tables::fill(&program, &compiled.module, &|_| false).unwrap();
    let name = program.programs().remove(0);
    (program, compiled.module, name)
}

pub fn frame(description: &str) -> Vec<u8> {
    frames::described(description).unwrap().remove(0).1
}

/// The table's entries in order.
pub fn entries(program: &Program, module: &Module, name: &str) -> Vec<String> {
    let named = module.tables.iter().find(|table| table.name == name);
    let table = named.unwrap_or_else(|| panic!("no table {name} of {:?}", module.tables));
    let entries = tables::entries(program, module, table).unwrap();
    let mut lines: Vec<String> =
        entries.iter().map(|(key, value)| format!("{} {}", text(key), text(value))).collect();
    lines.sort();
    lines
}

fn text(datum: &Datum) -> String {
    match datum {
        Datum::Integer(value) => value.to_string(),
        Datum::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Datum::Record(fields) => {
            fields.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

/// Packets in the tests that count on two CPUs at once.
pub fn packets() -> u32 {
    u32::try_from(host::setting("MOONHOOK_COUNTS", 1_000_000)).unwrap()
}

/// Packets on each CPU where many ways are tried, or each of them takes long.
pub fn few() -> u32 {
    packets() / 25
}

/// Runs a frame on two CPUs at once, `count` times on each.
pub fn run_twice(program: &Program, name: &str, frame: &[u8], count: u32) {
    run_together(program, name, [frame, frame], count);
}

/// Runs one frame on one CPU and another one on another at once, each `count` times.
pub fn run_together(program: &Program, name: &str, frames: [&[u8]; 2], count: u32) {
    let start = std::sync::Barrier::new(2);
    let run = |cpu: usize, fd: OwnedFd| {
        let frame = frames[cpu];
        let mut cpus = nix::sched::CpuSet::new();
        cpus.set(cpu).unwrap();
        // With a single CPU there is nothing to lose.
        let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &cpus);
        start.wait();
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            data_in: frame.as_ptr().cast(),
            data_size_in: frame.len() as u32,
            repeat: count as i32,
            ..Default::default()
        };
        // SAFETY: the frame outlives the call, which reads it only; no other pointer is set.
        let result = unsafe { libbpf_sys::bpf_prog_test_run_opts(fd.as_raw_fd(), &raw mut options) };
        assert_eq!(result, 0);
    };
    let fd = || program.program_fd(name).unwrap().try_clone_to_owned().unwrap();
    let (first, second) = (fd(), fd());
    std::thread::scope(|scope| {
        scope.spawn(|| run(0, first));
        scope.spawn(|| run(1, second));
    });
}
