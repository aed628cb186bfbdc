//! Random programs on random frames, in both tiers; and in real Lua alone, where the generator is examined.
//!
//! | variable | meaning |
//! |---|---|
//! | `MOONHOOK_FUZZ_CASES` | pairs of a program and a frame |
//! | `MOONHOOK_FUZZ_SEED` | the first program's seed; the program of a seed is always the same |
//! | `MOONHOOK_FUZZ_FEATURES` | parts of the language that programs may use: names of `Features`, or `all` |
//! | `MOONHOOK_FUZZ_TIER` | `user` leaves the kernel out |
//! | `MOONHOOK_FUZZ_HOOK` | `tc`: handlers for XDP, which most are, run there |
//!
//! A program that fails is made small and, if the tiers disagreed about it, written to `tests/regressions`.

use moonhook_proof::cases::{AT_TC, Elsewhere};
use moonhook_proof::generator::Features;
use moonhook_proof::host;
use moonhook_proof::trial::{FRAMES, Failure, Tiers, Trial, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What programs for the kernel may use.
const KERNEL_FEATURES: Features = Features::ALL;

/// Pairs of a program and a frame.
const CASES: u64 = 1680;
const SEED: u64 = 1;

/// After this many failures of different kinds the run ends.
const ENOUGH: usize = 8;

/// The code of what the verifier rejects.
const REJECTED: &str = "MH0505";

/// How often a long run says how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

/// What came of a run so far.
#[derive(Default)]
struct Tally {
    programs: u64,
    pairs: u64,
    lines: usize,
    errors: usize,
    /// Programs in expanded code, and in both forms.
    expanded: u64,
    both: u64,
    /// Programs whose expanded code the verifier was not done with in time.
    given_up: u64,
    refused: BTreeMap<&'static str, u64>,
    failures: Vec<(u64, Failure)>,
    /// Failures, also those of a kind that is known; those of them that the verifier rejected.
    failed: u64,
    rejected: u64,
    /// The program that took longest to compile and load.
    slowest: (Duration, u64),
}

impl Tally {
    fn count(&mut self, seed: u64, verdict: Verdict) {
        self.programs += 1;
        match verdict {
            Verdict::Agreed(ran) => {
                let forms = u64::from(ran.expanded) + u64::from(ran.general);
                self.pairs += ran.seen.len() as u64 * forms.max(1);
                self.expanded += u64::from(ran.expanded);
                self.both += forms / 2;
                self.given_up += u64::from(ran.given_up);
                self.lines += ran.seen.iter().map(|seen| seen.output.len()).sum::<usize>();
                self.errors += ran.seen.iter().filter(|seen| seen.error.is_some()).count();
                self.slowest = self.slowest.max((ran.time, seed));
            }
            Verdict::Refused(code, message) => {
                println!("seed {seed} is refused: {message}");
                *self.refused.entry(code).or_default() += 1;
            }
            Verdict::Failed(failure) => {
                self.failed += 1;
                self.rejected += u64::from(failure.kind.starts_with(REJECTED));
                if self.failures.iter().all(|(_, known)| known.kind != failure.kind) {
                    println!("seed {seed}, after {} programs: {}", self.programs, failure.kind);
                    self.failures.push((seed, failure));
                }
            }
        }
    }

    fn summary(&self, since: Instant) -> String {
        let refused: Vec<String> =
            self.refused.iter().map(|(code, count)| format!("{count} {code}")).collect();
        format!(
            "{} programs ({} in expanded code, {} in both forms, {} given up by the verifier), {} pairs, {} failures, {} of them rejected by the verifier, \
             slowest to load: {:.2} s (seed {}), refused: {}, {} lines printed, {} frames with an error, {:.1} s",
            self.programs,
            self.expanded,
            self.both,
            self.given_up,
            self.pairs,
            self.failed,
            self.rejected,
            self.slowest.0.as_secs_f64(),
            self.slowest.1,
            if refused.is_empty() { "none".to_string() } else { refused.join(", ") },
            self.lines,
            self.errors,
            since.elapsed().as_secs_f64()
        )
    }
}

/// Runs programs on all CPUs until `cases` pairs are done or enough has failed.
fn run(name: &str, features: Features, tiers: Tiers) {
    let features = match std::env::var("MOONHOOK_FUZZ_FEATURES") {
        Ok(names) => Features::named(&names).unwrap_or_else(|problem| panic!("{problem}")),
        Err(_) => features,
    };
    let first = host::setting("MOONHOOK_FUZZ_SEED", SEED);
    let programs = host::setting("MOONHOOK_FUZZ_CASES", CASES).div_ceil(FRAMES as u64);
    println!("{name}: {programs} programs of {FRAMES} frames from seed {first} on");
    let (start, next) = (Instant::now(), Mutex::new((0, Instant::now())));
    let tally = Mutex::new(Tally::default());
    let worker = || {
        let folder = tempfile::tempdir().expect("a folder for scripts");
        loop {
            let mut place = next.lock().expect("no worker panics");
            let seed = first.wrapping_add(place.0);
            if place.0 >= programs || tally.lock().expect("no worker panics").failures.len() >= ENOUGH {
                break;
            }
            place.0 += 1;
            if place.1.elapsed() >= PROGRESS {
                place.1 = Instant::now();
                println!("{name}: {}", tally.lock().expect("no worker panics").summary(start));
            }
            drop(place);
            let verdict = Trial::new(seed, features, tiers).at(elsewhere()).run(folder.path());
            tally.lock().expect("no worker panics").count(seed, verdict);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let tally = tally.into_inner().expect("no worker panics");
    println!("{name}: {}", tally.summary(start));
    let reports: Vec<String> = std::thread::scope(|scope| {
        let shrinking: Vec<_> = tally
            .failures
            .iter()
            .map(|(seed, failure)| scope.spawn(move || report(*seed, failure, features, tiers)))
            .collect();
        shrinking.into_iter().map(|thread| thread.join().expect("no report panics")).collect()
    });
    assert!(reports.is_empty(), "{} kinds of failure:\n\n{}", reports.len(), reports.join("\n\n"));
    let refused: u64 = tally.refused.values().sum();
    assert!(refused * 10 < programs.max(10), "{refused} of {programs} programs were refused");
}

/// Shrinks the program of a seed and keeps it for the suite.
fn report(seed: u64, failure: &Failure, features: Features, tiers: Tiers) -> String {
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let small = Trial::new(seed, features, tiers).at(elsewhere()).shrunk(failure, folder.path());
    let message = match small.run(folder.path()) {
        Verdict::Failed(failure) => failure.message,
        other => format!("{other:?} the second time; at first: {}", failure.message),
    };
    let case = small.case(&format!("Random program {seed}, made small: {}.", failure.kind));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    // Another version of the generator may have kept another program of that seed.
    let names = std::iter::once(format!("random_{seed}.lua"));
    let mut paths =
        names.chain((2..).map(|n| format!("random_{seed}_{n}.lua"))).map(|name| folder.join(name));
    let path = paths.find(|path| !path.exists()).expect("there are names enough");
    let kept = match tiers {
        Tiers::User => "a fault of the generator".to_string(),
        Tiers::Both => match std::fs::write(&path, &case) {
            Ok(()) => format!("kept as {}", path.display()),
            Err(error) => format!("cannot be kept: {error}"),
        },
    };
    format!("seed {seed}, {kept}\n{case}{message}")
}

/// Where handlers for XDP run instead.
fn elsewhere() -> Option<&'static Elsewhere> {
    let hook = std::env::var("MOONHOOK_FUZZ_HOOK").ok()?;
    assert_eq!(hook, "tc", "there is no such other hook");
    Some(&AT_TC)
}

fn user_only() -> bool {
    std::env::var("MOONHOOK_FUZZ_TIER").is_ok_and(|tier| tier == "user")
}

#[test]
fn programs_agree_fuzz() {
    if !user_only() && host::kernel_available("random programs") {
        run("both tiers", KERNEL_FEATURES, Tiers::Both);
    }
}

#[test]
fn programs_are_fit_fuzz() {
    run("user tier", Features::ALL, Tiers::User);
}
