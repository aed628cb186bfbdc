//! Random programs on random frames. MOONHOOK_FUZZ_CASES says how many, MOONHOOK_FUZZ_SEED where to begin; the program of
//! a seed is always the same. A program that fails is made small and written to `tests/regressions`.

use moonhook_proof::host;
use moonhook_proof::trial::{Failure, Trial, Verdict};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const CASES: u64 = 300;
const SEED: u64 = 1;

/// After this many failures of different kinds the run ends.
const ENOUGH: usize = 8;

#[test]
fn programs_agree_fuzz() {
    if !host::kernel_available("random programs") {
        return;
    }
    let first = host::setting("MOONHOOK_FUZZ_SEED", SEED);
    let cases = host::setting("MOONHOOK_FUZZ_CASES", CASES);
    println!("{cases} programs from seed {first} on");
    let (next, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let failures: Mutex<Vec<(u64, Failure)>> = Mutex::new(Vec::new());
    let worker = || {
        let folder = tempfile::tempdir().expect("a folder for scripts");
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= cases || failures.lock().expect("no worker panics").len() >= ENOUGH {
                break;
            }
            let seed = first.wrapping_add(index);
            match Trial::new(seed).run(folder.path()) {
                Verdict::Agreed => {}
                Verdict::Refused => {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                Verdict::Failed(failure) => {
                    let mut failures = failures.lock().expect("no worker panics");
                    if failures.iter().all(|(_, known)| known.kind != failure.kind) {
                        failures.push((seed, failure));
                    }
                }
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let refused = refused.into_inner();
    println!("{refused} programs were refused");
    let failures = failures.into_inner().expect("no worker panics");
    let reports: Vec<String> = failures.into_iter().map(|(seed, failure)| report(seed, &failure)).collect();
    assert!(reports.is_empty(), "{} kinds of failure:\n\n{}", reports.len(), reports.join("\n\n"));
    assert!(refused * 10 < cases.max(10), "{refused} of {cases} programs were refused");
}

/// Shrinks the program of a seed and keeps it for the suite.
fn report(seed: u64, failure: &Failure) -> String {
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let small = Trial::new(seed).shrunk(failure, folder.path());
    let message = match small.run(folder.path()) {
        Verdict::Failed(failure) => failure.message,
        other => format!("{other:?} the second time; at first: {}", failure.message),
    };
    let case = small.case(&format!("Random program {seed}, made small: {}.", failure.kind));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/regressions/random_{seed}.lua"));
    let kept = match std::fs::write(&path, &case) {
        Ok(()) => format!("kept as {}", path.display()),
        Err(error) => format!("cannot be kept: {error}"),
    };
    format!("seed {seed}, {kept}\n{case}{message}")
}
