//! Arithmetic of floats in the kernel, compared with the processor's, bit for bit.

use crate::common::cases;
use crate::floats::ROUTINES;
use crate::machine::{Machine, available};
use moonhook_runtime::simulate::Simulator;

#[test]
fn operations_are_the_processors() {
    if !available() {
        return;
    }
    let simulator = Simulator::new(1 << 12).unwrap();
    let machine = Machine::new(&simulator, &ROUTINES.map(|routine| routine.name));
    for routine in ROUTINES {
        routine.compare(cases(20_000), |arguments| machine.call(routine.name, arguments));
    }
}
