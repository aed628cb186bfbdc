//! Random programs: what the kernel computes against the reference evaluator. `MOONHOOK_RANDOM_PROGRAMS` sets how many,
//! `MOONHOOK_RANDOM_SEED` where to begin.

mod common;

use common::evaluate::Evaluator;
use common::random::{self, INPUTS, Random};
use common::{build, kernel};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_kernel_computes_what_the_evaluator_does() {
    if !kernel::available() {
        return;
    }
    libbpf_rs::set_print(None); // A program with too many paths brings a long log.
    let first = setting("MOONHOOK_RANDOM_SEED", 1);
    let programs = setting("MOONHOOK_RANDOM_PROGRAMS", 150);
    let mut too_complex = 0;
    for seed in first..first + programs {
        let module = random::module(seed);
        let Some(mut loaded) = kernel::load_unless_too_complex(&module) else {
            too_complex += 1;
            continue;
        };
        let mut random = Random::new(seed ^ 0xabcd);
        for _ in 0..8 {
            let inputs: Vec<u8> = (0..INPUTS).flat_map(|_| random.operand().to_le_bytes()).collect();
            let mut evaluator = Evaluator::new(&module);
            evaluator.regions[build::IO.0 as usize][..inputs.len()].copy_from_slice(&inputs);
            let expected = evaluator.call(&module.functions[0], &[0]) as u32;
            loaded.set_data(".data.io", &inputs);
            let (result, _) = loaded.run(&[0; 64]);
            let found = loaded.data(".data.io");
            assert_eq!(result, expected, "seed {seed}, inputs {inputs:x?}\n{module}");
            assert_eq!(found, evaluator.regions[0], "seed {seed}, inputs {inputs:x?}\n{module}");
        }
    }
    assert!(too_complex * 5 < programs.max(5), "{too_complex} of {programs} were too complex to load");
}
