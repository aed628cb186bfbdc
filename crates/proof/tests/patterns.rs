//! Random patterns and subjects: compiled at packet time, and compiled in place. `MOONHOOK_FUZZ_CASES` counts pairs of each kind.

use moonhook_engine::Form;
use moonhook_proof::patterns::{self, PAIRS};
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, frames, host};
use std::path::{Path, PathBuf};

const SEED: u64 = 1;

/// Pairs of each kind, unless more are asked for.
const CASES: u64 = 1500;

/// Pairs in one script's tables.
const TABLE: usize = 2500;

/// Patterns in one script's code, and subjects that it is given.
const CONSTANTS: usize = 8;
const SUBJECTS: usize = 40;

fn setting() -> (Random, usize) {
    let seed = host::setting("MOONHOOK_FUZZ_SEED", SEED);
    println!("seed {seed}");
    (Random::new(seed), host::setting("MOONHOOK_FUZZ_CASES", CASES) as usize)
}

fn write(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("patterns.lua");
    std::fs::write(&path, text).expect("the script can be written");
    path
}

#[test]
fn patterns_known_at_packet_time_fuzz() {
    if !host::kernel_available("patterns known at packet time") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let (mut random, cases) = setting();
    for first in (0..cases).step_by(TABLE) {
        let count = TABLE.min(cases - first);
        let pairs: Vec<_> = (0..count).map(|_| patterns::Pair::new(&mut random)).collect();
        let script = write(folder.path(), &patterns::of_tables(&pairs));
        let mut tiers = Pair::in_form(&script, Some(Form::General)).unwrap_or_else(|error| panic!("{error}"));
        for (start, part) in (0..).step_by(PAIRS).zip(pairs.chunks(PAIRS)) {
            let frame = frames::datagram(&(start as u16).to_le_bytes());
            let seen = tiers.run(&frame).unwrap_or_else(|error| panic!("{part:#?}\n{error}"));
            assert_eq!((seen.error, seen.output.len()), (None, 4 * part.len()), "{part:#?}");
        }
    }
    println!("{cases} pairs agree");
}

#[test]
fn patterns_in_the_code_fuzz() {
    if !host::kernel_available("patterns in the code") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let (mut random, cases) = setting();
    let mut pairs = 0;
    while pairs < cases {
        let constants: Vec<_> = (0..CONSTANTS).map(|_| patterns::pattern(&mut random)).collect();
        let text = patterns::of_constants(&constants);
        let mut tiers =
            Pair::new(&write(folder.path(), &text)).unwrap_or_else(|error| panic!("{text}\n{error}"));
        for _ in 0..SUBJECTS {
            let frame = frames::datagram(&patterns::subject(&mut random));
            tiers.run(&frame).unwrap_or_else(|error| panic!("{text}\n{error}"));
        }
        pairs += CONSTANTS * SUBJECTS;
    }
    println!("{pairs} pairs agree");
}
