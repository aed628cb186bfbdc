//! Compiling takes time and memory in proportion to the script: what a stage takes for scripts of three sizes, each four times as
//! long as the one before, may grow by little more than the script.
//!
//! What is constant drops out of differences: from n to 4n a stage takes 3 more parts, from 4n to 16n 12 more, four times as many.
//! With the square of the length it would be sixteen times as many. Allocated bytes are counted, and the same in each run. Processor
//! time also sees searches; what disturbs it makes it longer, never shorter. So it is the least of several runs, in which the sizes take
//! turns. Where it has grown too much there are more runs, up to [`ROUNDS`]: what grows by itself does so in the shortest of them, too.
//! A step at which the work outgrows a cache, or differences that are small beside what is constant, look like growth at one place
//! only: too much is what has grown too much from each of two sizes on, the second four times the first.

#[path = "growth/measure.rs"]
mod measure;
#[path = "growth/shapes.rs"]
mod shapes;

use measure::{Cost, measured};
use moonhook_engine::{Attempt, Learned, Settings, emit, lower, rewrite};
use shapes::{ENTRIES, SHAPES, Shape, Text};
use std::path::PathBuf;

/// Of the second difference to the first: 4 where a stage is linear, 16 where it is quadratic.
const MOST_BYTES: f64 = 9.0;
const MOST_TIME: f64 = 10.0;

/// How often each size is compiled at most.
const ROUNDS: usize = 12;

/// Differences of less than that say nothing, in seconds and bytes.
const LEAST_TIME: f64 = 0.002;
const LEAST_BYTES: f64 = 1e6;

const STAGES: [&str; 4] = ["load", "lower", "passes", "emit"];

/// What each stage takes for a script; what the compiler says where it takes no script of that length.
fn cost(text: &Text, attempt: Attempt) -> Result<[Cost; 4], String> {
    let folder = tempfile::tempdir().expect("a folder for the script");
    let path = folder.path().join("script.lua");
    std::fs::write(&path, &text.script).expect("the script can be written");
    let mut settings = Settings { cpus: Some(2), arena: !text.is_library, ..Settings::default() };
    settings.load.library = text.is_library.then(|| "library".into());
    let paths: [PathBuf; 1] = [path];
    let (loaded, load) = measured(|| moonhook_load::load(&paths, &settings.load));
    let snapshot = loaded.map_err(|error| error.to_string())?.snapshot;
    let mut learned = Learned::default();
    let (module, lowered) = measured(|| lower(&snapshot, &settings, attempt, &mut learned));
    let mut module = module.map_err(|error| error.to_string())?;
    let (rewritten, passes) = measured(|| rewrite(&snapshot, &settings, &mut module));
    rewritten.map_err(|error| error.to_string())?;
    let (object, emitted) = measured(|| emit(&module));
    object.map_err(|error| error.to_string())?;
    Ok([load, lowered, passes, emitted])
}

/// What each stage takes for three sizes of a shape, each compiled `rounds` times at least.
fn costs(shape: &Shape, attempt: Attempt, rounds: usize) -> Result<[[Cost; 4]; 3], String> {
    let texts = [1, 4, 16].map(|times| shape.script(times));
    if attempt == Attempt::GENERAL {
        // What general code takes once in a process, of parts that no shape before has had, is no growth.
        cost(&texts[0], attempt)?;
    }
    let mut costs = [cost(&texts[0], attempt)?, cost(&texts[1], attempt)?, cost(&texts[2], attempt)?];
    for round in 1..ROUNDS {
        if round >= rounds && !takes_too_long(&costs) {
            break;
        }
        for (least, text) in costs.iter_mut().zip(&texts) {
            lessen(least, cost(text, attempt)?);
        }
    }
    Ok(costs)
}

fn lessen(least: &mut [Cost; 4], again: [Cost; 4]) {
    least.iter_mut().zip(again).for_each(|(least, again)| *least = least.least(again));
}

fn takes_too_long(costs: &[[Cost; 4]; 3]) -> bool {
    growths(costs).iter().any(|growth| growth.is_excess && growth.what == SECONDS)
}

/// The stages that grow by more than they may, in words.
fn excess(shape: &Shape, attempt: Attempt, rounds: usize) -> Vec<String> {
    let words = |growth: &Growth| {
        let Growth { stage, what, sizes: [one, four, sixteen], times, .. } = growth;
        format!("{}, {stage}: {one:.4} {four:.4} {sixteen:.4} {what}, × {times:.1}", shape.name)
    };
    let costs = costs(shape, attempt, rounds).unwrap_or_else(|error| panic!("{}: {error}", shape.name));
    let all = growths(&costs);
    all.iter().for_each(|growth| println!("{}", words(growth)));
    let mut found: Vec<&Growth> = all.iter().filter(|growth| growth.is_excess).collect();
    // Where longer scripts are refused, what was seen first stands.
    if takes_too_long(&costs)
        && let Ok(longer) = longer(shape, attempt, costs)
    {
        longer.iter().for_each(|growth| println!("again, {}", words(growth)));
        let is_again =
            |growth: &Growth| longer.iter().any(|other| other.is_excess && other.stage == growth.stage);
        found.retain(|growth| growth.what == BYTES || is_again(growth));
    }
    found.into_iter().map(words).collect()
}

/// How the stages grow from the second size on: a size more, compiled once unless that seems to take too long.
fn longer(
    shape: &Shape,
    attempt: Attempt,
    [_, four, sixteen]: [[Cost; 4]; 3],
) -> Result<Vec<Growth>, String> {
    let text = shape.script(64);
    let mut costs = [four, sixteen, cost(&text, attempt)?];
    for _ in 1..ROUNDS {
        if takes_too_long(&costs) {
            lessen(&mut costs[2], cost(&text, attempt)?);
        }
    }
    Ok(growths(&costs))
}

/// How something that a stage takes grows with the script.
struct Growth {
    stage: &'static str,
    what: &'static str,
    /// For the three sizes.
    sizes: [f64; 3],
    /// The second difference is that many times the first.
    times: f64,
    /// That is more than it may be.
    is_excess: bool,
}

const BYTES: &str = "bytes";
const SECONDS: &str = "seconds";

fn growths(costs: &[[Cost; 4]; 3]) -> Vec<Growth> {
    let mut all = Vec::new();
    for (number, stage) in STAGES.into_iter().enumerate() {
        let of_stage = [0, 1, 2].map(|size: usize| costs[size][number]);
        let kinds = [
            (BYTES, of_stage.map(|cost| cost.bytes), LEAST_BYTES, MOST_BYTES),
            (SECONDS, of_stage.map(|cost| cost.seconds), LEAST_TIME, MOST_TIME),
        ];
        all.extend(kinds.map(|(what, sizes, least, most)| {
            let [one, four, sixteen] = sizes;
            let times = (sixteen - four) / (four - one).max(least / 4.0);
            Growth { stage, what, sizes, times, is_excess: sixteen - four > least && times > most }
        }));
    }
    all
}

/// One test: what is counted is counted for the process.
#[test]
fn what_compiling_takes_grows_with_the_script() {
    let mut found: Vec<String> = SHAPES
        .iter()
        .filter(|shape| shape.in_expanded)
        .flat_map(|shape| excess(shape, Attempt::EXPANDED, 2))
        .collect();
    let in_both = SHAPES.iter().filter(|shape| shape.in_general);
    found.extend(in_both.flat_map(|shape| excess(shape, Attempt::GENERAL, 1)));
    assert!(found.is_empty(), "{}", found.join("\n"));

    for (name, text, most) in ENTRIES {
        let peak = measure::peak(|| {
            cost(&Text { script: text(), is_library: false }, Attempt::EXPANDED)
                .unwrap_or_else(|error| panic!("{name}: {error}"))
        });
        println!("{name}: {} MB at most", peak >> 20);
        assert!(peak < *most, "{name} takes {peak} bytes");
    }
}
