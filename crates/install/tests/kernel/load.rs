//! Loading, statistics, rejection, test runs.

use crate::support::{compile, kernel, load_c};
use moonhook_install::{
    FRAME_MIN, InstallError, LoadOptions, LogDetail, Rejection, frame_max, frame_max_linear, load,
};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

#[test]
fn loads_and_says_what_it_costs() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    assert_eq!(program.programs(), ["count", "grow", "linear"]);
    for row in program.statistics() {
        assert!(row.instructions > 1 && row.verified_instructions > 1, "{row:?}");
        assert!(row.states.is_some() && row.peak_states.is_some(), "{row:?}");
    }
    let count = &program.statistics()[0];
    assert!(matches!(count.stack.as_deref(), Some([depth]) if *depth >= 8), "{count:?}");
    assert_eq!(program.warnings(), "");
    let quiet = load(&compile("basic.c"), &LoadOptions::default()).unwrap();
    assert_eq!((quiet.log("count"), quiet.statistics()[0].stack.clone()), (None, None));
    let options = LoadOptions { log: LogDetail::All, ..LoadOptions::default() };
    let full = load(&compile("basic.c"), &options).unwrap();
    let log = full.log("count").unwrap();
    assert!(log.contains("; value[0] += 1; @ basic.c:"), "{log}");
    for row in full.statistics() {
        let functions = full.verified_functions(&row.name).unwrap();
        let verified: u32 = functions.iter().map(|function| function.verified).sum();
        assert_eq!((functions[0].name.as_str(), verified), (row.name.as_str(), row.verified_instructions));
    }
    assert_eq!(program.verified_functions("count"), None);
}

#[test]
fn a_rejection_has_the_line_and_the_whole_log() {
    if !kernel() {
        return;
    }
    for log in [LogDetail::Nothing, LogDetail::Statistics, LogDetail::All] {
        let error =
            load(&compile("rejected.c"), &LoadOptions { name: "x".into(), log, ..LoadOptions::default() })
                .unwrap_err();
        let InstallError::Rejected(rejection) = error else { panic!("{error:?}") };
        assert!(!rejection.is_too_complex(), "{}", rejection.message);
        let Rejection { program, message, place, instruction, log, .. } = *rejection;
        assert_eq!(program, "reads_beyond");
        assert!(message.ends_with("R1 offset is outside of the packet"), "{message}");
        let place = place.unwrap();
        assert_eq!((place.file.as_str(), place.line), ("rejected.c", 7), "{log}");
        assert_eq!(place.text, "return data[3]; /* no bounds check */");
        assert_eq!(instruction, Some(1));
        assert!(log.contains("processed "), "{log}");
    }
}

#[test]
fn the_log_of_a_program_that_is_too_large_is_its_end() {
    if !kernel() {
        return;
    }
    let error = load(&compile("rejected/too_complex.c"), &LoadOptions::default()).unwrap_err();
    let InstallError::Rejected(rejection) = error else { panic!("{error:?}") };
    assert!(rejection.message.contains("BPF program is too large"), "{}", rejection.message);
    assert!(rejection.is_too_complex());
    assert_eq!(rejection.place.unwrap().line, 8);
    assert!((1 << 20..=4 << 20).contains(&rejection.log.len()), "{}", rejection.log.len());
}

#[test]
fn small_objects_load_in_two_milliseconds() {
    if !kernel() {
        return;
    }
    let object = compile("basic.c");
    let time = || {
        let start = processor_time();
        let program = load(&object, &LoadOptions::default()).unwrap();
        let time = processor_time() - start;
        drop(program);
        time
    };
    let mut times: Vec<_> = (0..21).map(|_| time()).collect();
    times.sort();
    println!("fastest {:?}, median {:?}", times[0], times[10]);
    // Caches are shared with other tests: the fastest of many shows the cost.
    assert!(times[0].as_micros() < 2000, "{times:?}");
}

/// What this thread has run for, in the kernel too; the host is shared with other tests.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

#[test]
fn what_is_no_object_is_malformed() {
    let for_another_machine = std::fs::read("/proc/self/exe").unwrap();
    malformed(&[b"", b"\x7fELF", b"moonhook", &for_another_machine]);
    if kernel() {
        let object = compile("drop.c");
        malformed(&[&object[..64], &object[..200], &object[..object.len() / 2]]);
    }
}

fn malformed(all: &[&[u8]]) {
    for bytes in all {
        let error = load(bytes, &LoadOptions::default()).unwrap_err();
        assert!(
            matches!(&error, InstallError::MalformedObject { message } if !message.is_empty()),
            "{error:?}"
        );
    }
}

#[test]
fn a_map_that_is_too_large_is_named() {
    if !kernel() {
        return;
    }
    let error = load(&compile("large_map.c"), &LoadOptions::default()).unwrap_err();
    assert!(matches!(error, InstallError::LoadFailed { .. }), "{error:?}");
    assert!(error.to_string().contains("map 'far_too_large': failed to create"), "{error:?}");
}

#[test]
fn what_libbpf_does_without_is_a_warning() {
    if !kernel() {
        return;
    }
    let program = load(&compile("odd_btf.c"), &LoadOptions::default()).unwrap();
    assert!(program.warnings().contains("Array size overflows U32_MAX"), "{}", program.warnings());
}

#[test]
fn an_unknown_section_is_named() {
    if !kernel() {
        return;
    }
    let error = load(&compile("unknown_section.c"), &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("check ELF section name 'moon'"), "{error:?}");
}

#[test]
fn programs_that_cannot_be_run_are_refused() {
    if !kernel() {
        return;
    }
    let error = load_c("other_hooks.c").test_run("probe", &[0; 60], 1).unwrap_err();
    assert!(matches!(error, InstallError::TestRunRefused { .. }), "{error:?}");
    assert!(error.to_string().contains("EOPNOTSUPP"), "{error}");
}

#[test]
fn a_test_run_gives_verdict_and_frame() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    let passed = program.test_run("count", &[7; 60], 1).unwrap();
    assert_eq!((passed.verdict, passed.data.len(), &passed.data[..3]), (2, 60, &[7, 0x44, 7][..]));
    assert_eq!(program.test_run("count", &[0xff; 60], 1).unwrap().verdict, 1);
    let grown = program.test_run("grow", &[7; 60], 1).unwrap();
    assert_eq!((grown.verdict, grown.data.len(), &grown.data[8..]), (3, 68, &[7; 60][..]));
    assert!(program.test_run("count", &[7; 60], 10_000).unwrap().duration_ns > 0);
}

#[test]
fn test_runs_take_exactly_the_lengths_that_are_promised() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    let run = |length: usize| program.test_run("linear", &vec![0; length], 1);
    for length in [FRAME_MIN, 60, 1514, frame_max_linear()] {
        assert_eq!(run(length).unwrap().verdict as usize, length >> 4, "{length}");
    }
    for length in [frame_max_linear() + 1, 9000, 65535, frame_max()] {
        let run = run(length).unwrap();
        assert_eq!((run.verdict as usize, run.data.len()), (frame_max_linear() >> 4, length));
    }
    for length in [0, FRAME_MIN - 1, frame_max() + 1, 100_000] {
        assert!(matches!(run(length), Err(InstallError::FrameLength { length: l, .. }) if l == length));
    }
    let unknown = program.test_run("absent", &[0; 60], 1);
    assert!(matches!(unknown, Err(InstallError::NoSuchItem { existing, .. }) if existing.len() == 3));
}
