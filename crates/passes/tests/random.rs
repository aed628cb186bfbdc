//! Random programs mean the same after each pass and after all of them: result, packet, data and helper calls, for packets
//! of several lengths and several limits of may_goto. `MOONHOOK_FUZZ=N` tries N programs instead of the usual number.

#[path = "random/generator.rs"]
mod generator;

use moonhook_ir::{FunctionId, Module, eval::Machine, eval::Trap, parse, verify::verify};
use moonhook_passes::{Around, LAST, PASSES, SPLIT, optimise};

const PROGRAMS: u64 = 150;

fn programs() -> u64 {
    std::env::var("MOONHOOK_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS)
}

/// What can be seen from outside.
fn observe(module: &Module) -> Vec<(Result<u64, Trap>, Machine)> {
    let runs = [(0, 5), (3, 0), (11, 2), (27, 1000), (64, 1000)];
    let run = |(length, may_goto): (usize, u64)| {
        let packet = (0..length).map(|index| (index * 37 + length) as u8).collect();
        let mut machine = Machine { may_goto, ..Machine::new(module, packet) };
        let result = machine.run(module, FunctionId(0));
        machine.fuel = 0;
        (result, machine)
    };
    runs.into_iter().map(run).collect()
}

fn check(seed: u64, what: &str, before: &Module, after: &Module) {
    let function = &after.functions[0];
    verify(function).unwrap_or_else(|error| panic!("seed {seed}, {what}: {error}\n{before}\n{after}"));
    let (expected, found) = (observe(before), observe(after));
    assert!(expected == found, "seed {seed}, {what}:\n{expected:?}\n{found:?}\n{before}\n{after}");
    let text = after.to_string();
    assert_eq!(parse(&text).map(|module| module.to_string()), Ok(text), "seed {seed}, {what}");
}

#[test]
fn passes_keep_the_meaning() {
    for seed in 1..=programs() {
        let module = generator::module(seed, 6 + seed as usize % 30);
        let results = observe(&module);
        assert!(results.iter().all(|(result, _)| result.is_ok()), "seed {seed}: {results:?}\n{module}");
        for pass in PASSES.iter().chain([&SPLIT]).chain(LAST) {
            let mut after = module.clone();
            let (functions, around) = Around::of(&mut after);
            (pass.run)(&mut functions[0], &around);
            check(seed, pass.name, &module, &after);
        }
        let mut after = module.clone();
        optimise(&mut after);
        check(seed, "optimise", &module, &after);
    }
}

#[test]
fn optimised_programs_are_shorter() {
    let size = |module: &Module| -> usize {
        module.functions[0].blocks.iter().map(|block| block.insts.len() + 1).sum()
    };
    let (mut before, mut after) = (0, 0);
    for seed in 1..=50 {
        let mut module = generator::module(seed, 30);
        before += size(&module);
        optimise(&mut module);
        after += size(&module);
    }
    assert!(after * 10 < before * 8, "{before} operations before, {after} after");
}
