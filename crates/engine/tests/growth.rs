//! Compiling takes time and memory in proportion to the script: what a stage takes for scripts of three sizes, each four times as
//! long as the one before, may grow by little more than the script.
//!
//! What is constant drops out of differences: from n to 4n a stage takes 3 more parts, from 4n to 16n 12 more, four times as many.
//! With the square of the length it would be sixteen times as many. Allocated bytes are counted, and the same in each run;
//! processor time, which also sees searches, is the least of a few runs, and its bound leaves room for noise.

#[path = "growth/measure.rs"]
mod measure;
#[path = "growth/shapes.rs"]
mod shapes;

use measure::{Cost, measured};
use moonhook_engine::{Attempt, Learned, Settings, emit, lower};
use shapes::{ENTRIES, SHAPES, Shape};
use std::path::PathBuf;

/// Of the second difference to the first: 4 where a stage is linear, 16 where it is quadratic.
const MOST_BYTES: f64 = 9.0;
const MOST_TIME: f64 = 10.0;

/// Differences of less than that say nothing, in seconds and bytes.
const LEAST_TIME: f64 = 0.01;
const LEAST_BYTES: f64 = 1e6;

const STAGES: [&str; 4] = ["load", "lower", "passes", "emit"];

/// What each stage takes for a script, at least.
fn cost(text: &str, attempt: Attempt, runs: usize) -> [Cost; 4] {
    let folder = tempfile::tempdir().expect("a folder for the script");
    let path = folder.path().join("script.lua");
    std::fs::write(&path, text).expect("the script can be written");
    let settings = Settings { cpus: Some(2), ..Settings::default() };
    let once = || {
        let paths: [PathBuf; 1] = [path.clone()];
        let (loaded, load) = measured(|| moonhook_load::load(&paths, &settings.load));
        let snapshot = loaded.unwrap_or_else(|error| panic!("{error}")).snapshot;
        let mut learned = Learned::default();
        let (module, lowered) = measured(|| lower(&snapshot, &settings, attempt, &mut learned));
        let mut module = module.unwrap_or_else(|error| panic!("{error}"));
        let ((), passes) = measured(|| moonhook_passes::optimise(&mut module));
        let (object, emitted) = measured(|| emit(&module));
        object.unwrap_or_else(|error| panic!("{error}"));
        [load, lowered, passes, emitted]
    };
    let mut least = once();
    for _ in 1..runs {
        least.iter_mut().zip(once()).for_each(|(least, again)| *least = least.least(again));
    }
    least
}

/// The stages that grow by more than they may, in words.
fn excess(shape: &Shape, attempt: Attempt, runs: usize) -> Vec<String> {
    let sizes = [shape.least, 4 * shape.least, 16 * shape.least];
    let costs = sizes.map(|size| cost(&(shape.text)(size), attempt, runs));
    let mut found = Vec::new();
    for (stage, name) in STAGES.iter().enumerate() {
        let [one, four, sixteen] = [0, 1, 2].map(|size| costs[size][stage]);
        let kinds = [
            ("bytes", one.bytes, four.bytes, sixteen.bytes, LEAST_BYTES, MOST_BYTES),
            ("seconds", one.seconds, four.seconds, sixteen.seconds, LEAST_TIME, MOST_TIME),
        ];
        for (what, one, four, sixteen, least, most) in kinds {
            let growth = (sixteen - four) / (four - one).max(least / 4.0);
            println!("{} {name}: {one:.3} {four:.3} {sixteen:.3} {what}, × {growth:.1}", shape.name);
            if sixteen - four > least && growth > most {
                found.push(format!("{}, {name}: {one} {four} {sixteen} {what}", shape.name));
            }
        }
    }
    found
}

/// One test: what is counted is counted for the process.
#[test]
fn what_compiling_takes_grows_with_the_script() {
    let mut found: Vec<String> =
        SHAPES.iter().flat_map(|shape| excess(shape, Attempt::EXPANDED, 2)).collect();
    // What general code takes once in a process is no growth.
    cost(&(SHAPES[0].text)(1), Attempt::GENERAL, 1);
    let in_both = SHAPES.iter().filter(|shape| shape.in_general);
    found.extend(in_both.flat_map(|shape| excess(shape, Attempt::GENERAL, 1)));
    assert!(found.is_empty(), "{}", found.join("\n"));

    for (name, text, most) in ENTRIES {
        let peak = measure::peak(|| cost(&text(), Attempt::EXPANDED, 1));
        println!("{name}: {} MB at most", peak >> 20);
        assert!(peak < *most, "{name} takes {peak} bytes");
    }
}
