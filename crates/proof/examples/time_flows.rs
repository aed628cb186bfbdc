//! Prints where the time goes in which the function of a flow is made:
//! `cargo run --release -p moonhook-proof --example time_flows -- SCRIPT FUNCTION…`, where the script has a flow table.

use moonhook_engine::{Compiled, FlowCompiler, Settings, Timings};
use moonhook_install::LogDetail;
use moonhook_load::{Options, load};
use moonhook_records::Decoder;
use moonhook_snapshot::Snapshot;
use std::time::Instant;

const ROUNDS: usize = 101;

fn main() {
    let mut arguments = std::env::args();
    let script = arguments.nth(1).expect("a script");
    let loaded = load(&[script.into()], &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let settings = Settings::default();
    let installed = moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| Vec::new());
    let (Compiled { module, .. }, program) = installed.unwrap_or_else(|error| panic!("{error}"));
    let decoder = Decoder::new(&module);
    let made = FlowCompiler::new(&loaded.snapshot, &module, (&program, &decoder), &settings);
    let compiler = made.unwrap_or_else(|error| panic!("{error}")).expect("a flow table");
    let base = loaded.base.clone().expect("a flow table");
    for path in arguments {
        let text = std::fs::read_to_string(&path).expect("a function");
        let mut rounds: Vec<[u64; 7]> = Vec::new();
        let mut size = 0;
        for round in 0..ROUNDS {
            let begin = Instant::now();
            let name = format!("{path} {round}");
            let own = loaded.flows.function_of(&loaded.lua, 0, &text, Some(&name));
            let own = own.unwrap_or_else(|error| panic!("{error}"));
            let parsed = begin.elapsed();
            let points = moonhook_control::FlowMaker::points(&compiler, 0);
            let texts = |name: &str| loaded.flows.text_of(name);
            let timed = |snapshot: &Snapshot| {
                let frozen = begin.elapsed();
                let (timings, instructions) =
                    compiler.timed(snapshot).unwrap_or_else(|error| panic!("{error}"));
                size = instructions;
                (frozen, timings)
            };
            let with = base.borrow_mut().with(&loaded.lua, &own.function, (&points, &texts), timed);
            let (frozen, timings) = with.unwrap_or_else(|error| panic!("{error}"));
            let Timings { lower, passes, emit, kernel_load, .. } = timings;
            let micros = |duration: std::time::Duration| duration.as_micros() as u64;
            let all = micros(begin.elapsed());
            rounds.push([
                micros(parsed),
                micros(frozen - parsed),
                lower,
                passes,
                emit,
                kernel_load.unwrap_or(0),
                all,
            ]);
            own.source.iter().for_each(|text| loaded.flows.forget_text(0, text));
        }
        let median = |column: usize| {
            let mut values: Vec<u64> = rounds.iter().map(|round| round[column]).collect();
            values.sort_unstable();
            values[ROUNDS / 2]
        };
        println!(
            "{path}: {size} instructions; parse {} freeze {} lower {} passes {} emit {} kernel {} all {} µs",
            median(0),
            median(1),
            median(2),
            median(3),
            median(4),
            median(5),
            median(6)
        );
    }
}
