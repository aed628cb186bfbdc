//! Tables that handlers share, where more than one frame at a time matters.

use moonhook_cli::driver::{self, Settings};
use moonhook_cli::tables;
use moonhook_install::{LoadOptions, Program};
use moonhook_ir::Module;
use moonhook_proof::{frames, host};
use moonhook_shape::Datum;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// The program of a script's text, and its name.
fn loaded(text: &str) -> (Program, Module, String) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("shared.lua");
    std::fs::write(&script, text).unwrap();
    let compiled = driver::compile(&[script], &Settings::default()).unwrap_or_else(|error| panic!("{error}"));
    let program = moonhook_install::load(&compiled.object.elf, &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    tables::fill(&program, &compiled.module, &|_| false).unwrap();
    let name = program.programs().remove(0);
    (program, compiled.module, name)
}

fn frame(description: &str) -> Vec<u8> {
    frames::described(description).unwrap().remove(0).1
}

/// The table's entries in order.
fn entries(program: &Program, module: &Module, name: &str) -> Vec<String> {
    let table = module.tables.iter().find(|table| table.name == name).unwrap();
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

/// Runs a frame on two CPUs at once, `count` times on each.
fn run_twice(program: &Program, name: &str, frame: &[u8], count: u32) {
    let start = std::sync::Barrier::new(2);
    let run = |cpu: usize, fd: OwnedFd| {
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

/// Two CPUs count in the same entries, which are made and deleted meanwhile: nothing is lost.
#[test]
fn no_count_is_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local plain, known, fields, sources, ports = {}, {}, {}, {}, {}
        local each = map { key = 'int', value = 'int', percpu = true }
        local timed = map { key = 'int', value = 'int', ttl = 1000 }
        xdp.attach(function(pkt)
          plain[#pkt] = (plain[#pkt] or 0) + 1
          if known[7] then known[7] = known[7] + #pkt else known[7] = (known[7] or 0) + #pkt end
          local f = fields[pkt.ip.src]
          if not f then f = { n = 0, bytes = 0 } fields[pkt.ip.src] = f end
          f.n = f.n + 1
          f.bytes = f.bytes + #pkt
          each[1] = (each[1] or 0) + 1
          timed[1] = (timed[1] or 0) + 1
          sources[pkt.ip.src] = (sources[pkt.ip.src] or 0) + 1
          ports[pkt:getuint16(36) & 0xff] = (ports[pkt:getuint16(36) & 0xff] or 0) + 1
        end)",
    );
    const COUNT: u32 = 500_000;
    let frame = frame("tcp");
    run_twice(&program, &name, &frame, COUNT);
    let (count, bytes) = (2 * COUNT as usize, 2 * COUNT as usize * frame.len());
    assert_eq!(entries(&program, &module, "plain"), [format!("{} {count}", frame.len())]);
    assert_eq!(entries(&program, &module, "known"), [format!("7 {bytes}")]);
    assert_eq!(entries(&program, &module, "fields"), [format!("192.0.2.7 bytes={bytes},n={count}")]);
    assert_eq!(entries(&program, &module, "each"), [format!("1 {count}")]);
    assert_eq!(entries(&program, &module, "sources"), [format!("192.0.2.7 {count}")]);
    assert_eq!(entries(&program, &module, "ports"), [format!("{} {count}", frame[36])]);
    assert_eq!(entries(&program, &module, "timed"), [format!("1 {count}")]);
}

/// Entries go when their time is over, and start anew.
#[test]
fn entries_expire() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local t = map { ttl = 0.2 }
        local old = map { ttl = 0.2 }
        local f = map { ttl = 0.2 }
        old[5] = 50
        xdp.attach(function(pkt)
          t[1] = (t[1] or 0) + 1
          f[1] = f[1] or { n = 0 }
          local e = f[1]
          e.n = e.n + 1
          if old[5] then return 1 end
        end)",
    );
    let frame = frame("tcp");
    let run = || program.test_run(&name, &frame, 1).unwrap().verdict;
    assert_eq!((run(), run()), (1, 1));
    assert_eq!(entries(&program, &module, "t"), ["1 2"]);
    assert_eq!(entries(&program, &module, "f"), ["1 n=2"]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(entries(&program, &module, "t"), [String::new(); 0]);
    assert_eq!(run(), 2);
    assert_eq!(entries(&program, &module, "t"), ["1 1"]);
    assert_eq!(entries(&program, &module, "f"), ["1 n=1"]);
}

/// What the user tier's plain tables cannot show: longest prefixes, and old entries that give way.
#[test]
fn declared_kinds_of_maps() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local nets = map { key = 'ipv4', value = 'int', lpm = true }
        local recent = map { key = 'int', value = 'int', capacity = 64, evict = 'lru' }
        local by_end = map { key = { src = 'ip', port = 'int' }, value = 'int' }
        nets['192.0.0.0/8'] = 3
        nets['192.0.2.0/24'] = 1
        xdp.attach(function(pkt)
          nets['10.0.0.0/8'] = 9
          for i = 1, 1000 do recent[i] = i end
          local n = by_end[{ src = pkt.ip.src, port = pkt.tcp.dport }]
          by_end[{ src = pkt.ip.src, port = pkt.tcp.dport }] = (n or 0) + 5
          return nets[pkt.ip.src]
        end)",
    );
    let run = || program.test_run(&name, &frame("tcp"), 1).unwrap().verdict;
    assert_eq!((run(), run()), (1, 1));
    assert_eq!(entries(&program, &module, "nets"), ["10.0.0.0/8 9", "192.0.0.0/8 3", "192.0.2.0/24 1"]);
    assert_eq!(entries(&program, &module, "by_end"), ["port=443,src=192.0.2.7 10"]);
    let recent = entries(&program, &module, "recent");
    assert!((1..=64).contains(&recent.len()) && recent.contains(&"1000 1000".to_string()), "{recent:?}");
}
