//! Scripts of a thousand lines with a hundred functions: they load, both tiers agree about them, and the verifier's work stays
//! far from its limit.

use moonhook_proof::ledger::Entry;
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, frames, host, large};
use std::time::Instant;

const FUNCTIONS: usize = 100;

/// Verified instructions, of the million that the kernel allows.
const MOST: u64 = 250_000;

#[test]
fn a_thousand_lines_load_and_agree() {
    if !host::kernel_available("long scripts") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for scripts");
    for seed in [1, 2] {
        let text = large::script(seed, FUNCTIONS);
        assert!(text.lines().count() >= 1000, "{} lines", text.lines().count());
        let path = folder.path().join("large.lua");
        std::fs::write(&path, &text).expect("the script can be written");
        let start = Instant::now();
        let mut pair = Pair::new(&path).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (entry, time) = (Entry::of(&pair), start.elapsed());
        println!("seed {seed}: {} lines, {entry:?}, compiled and loaded in {time:?}", text.lines().count());
        assert!(entry.verified < MOST, "seed {seed}: {entry:?}");
        let mut verdicts = [0; 5];
        for frame in payloads(seed) {
            let seen = pair.run(&frame).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(seen.error.is_none(), "seed {seed}: {seen}");
            verdicts[seen.verdict as usize] += 1;
        }
        println!("seed {seed}: verdicts {verdicts:?}");
        assert!(verdicts[1] > 10 && verdicts[2] > 10, "seed {seed}: {verdicts:?}");
    }
}

/// A datagram for each function, of words, digits and other bytes.
fn payloads(seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let text = |choice: usize| {
        let mut text = vec![choice as u8];
        for _ in 0..random.below(60) {
            text.push(*random.pick(b"aebcdxyz  ,.-019\0\xff"));
        }
        frames::datagram(&text)
    };
    (0..FUNCTIONS).map(text).collect()
}
