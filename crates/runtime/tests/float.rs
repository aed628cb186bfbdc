//! Arithmetic of floats by integers, compared with the processor's, bit for bit.

mod common;
#[path = "common/floats.rs"]
mod floats;

use common::{Random, cases};
use floats::ROUTINES;
use moonhook_runtime::simulate::Simulator;

#[test]
fn operations_are_the_processors() {
    let simulator = Simulator::new(1 << 12).unwrap_or_else(|error| panic!("{error}"));
    for routine in ROUTINES {
        routine.compare(cases(100_000), |arguments| {
            simulator.call(routine.name, arguments).unwrap_or_else(|error| panic!("{error}"))
        });
    }
}

#[test]
fn integers_become_the_nearest_float() {
    let simulator = Simulator::new(1 << 12).unwrap_or_else(|error| panic!("{error}"));
    let mut random = Random::new("float_of_integer");
    for _ in 0..cases(50_000) {
        let integer = random.integer();
        let found = simulator.call("float_of_integer", &[integer]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found as u64, (integer as f64).to_bits(), "{integer}");
    }
}
