//! How long the passes take. `cargo test --release -p moonhook-passes --test speed -- --ignored --nocapture`.

#[path = "random/generator.rs"]
mod generator;

use moonhook_ir::Module;
use moonhook_passes::{Around, PASSES, optimise};
use std::time::Instant;

#[test]
#[ignore = "a measurement"]
fn time_of_optimise() {
    let size = |module: &Module| -> usize {
        module.functions[0].blocks.iter().map(|block| block.insts.len() + 1).sum()
    };
    for statements in [100, 300, 600] {
        let module = generator::module(7, statements);
        let mut best = f64::MAX;
        let mut after = module.clone();
        for _ in 0..50 {
            after = module.clone();
            let start = Instant::now();
            optimise(&mut after);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{} instructions to {}: {:.0} µs", size(&module), size(&after), best * 1e6);
        let mut work = module.clone();
        for round in 0..3 {
            for pass in PASSES {
                let start = Instant::now();
                let changed = {
                    let (functions, around) = Around::of(&mut work);
                    (pass.run)(&mut functions[0], &around)
                };
                println!(
                    "  {round} {:12} {changed:5} {:.0} µs",
                    pass.name,
                    start.elapsed().as_secs_f64() * 1e6
                );
            }
        }
    }
}
