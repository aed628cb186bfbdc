//! Register allocation by regalloc2: r0 to r9, all of them; no register is set aside.
//!
//! r0 to r5 are preferred: the kernel's JIT saves r6 to r9 on entry only in programs that use them.

use crate::error::EmitError;
use crate::machine::{CALL_CLOBBERED, MachineFunction, physical};
use regalloc2::{Algorithm, Ctx, MachineEnv, Output, PRegSet, RegallocOptions};

const REGISTERS: usize = 10;

/// Allocates for one function after the other, reusing its memory.
#[derive(Default)]
pub struct Allocator {
    context: Ctx,
}

impl Allocator {
    /// Gives every virtual register of `function` its places.
    pub fn run(&mut self, name: &str, function: &MachineFunction) -> Result<&Output, EmitError> {
        let options = RegallocOptions {
            verbose_log: false,
            validate_ssa: cfg!(debug_assertions),
            algorithm: Algorithm::Ion,
        };
        regalloc2::run_with_ctx(function, &environment(), &options, &mut self.context).map_err(|error| {
            EmitError::Registers { function: name.to_string(), problem: format!("{error:?}") }
        })
    }
}

/// The registers there are.
pub fn environment() -> MachineEnv {
    let none = PRegSet::empty();
    let preferred: PRegSet = (0..CALL_CLOBBERED).map(physical).collect();
    let others: PRegSet = (CALL_CLOBBERED..REGISTERS).map(physical).collect();
    MachineEnv {
        preferred_regs_by_class: [preferred, none, none],
        non_preferred_regs_by_class: [others, none, none],
        scratch_by_class: [None; 3],
        fixed_stack_slots: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::random;
    use crate::frame::SlotOffsets;
    use crate::order::Layout;
    use crate::select::select;
    use regalloc2::checker::Checker;

    /// regalloc2's checker follows every value through the allocation and knows nothing of how it was found.
    #[test]
    fn allocations_of_random_functions_pass_the_checker() {
        let mut spills = 0;
        for seed in 1..200 {
            let module = random::module(seed);
            for function in &module.functions {
                let Ok(machine) = select(
                    &module,
                    function,
                    &SlotOffsets::new(function).unwrap(),
                    Layout::Straight,
                    seed % 2 == 0,
                ) else {
                    panic!("seed {seed}: no selection for {}", function.name);
                };
                let mut allocator = Allocator::default();
                let output = allocator.run(&function.name, &machine).unwrap();
                spills += output.num_spillslots;
                let environment = environment();
                let mut checker = Checker::new(&machine, &environment);
                checker.prepare(output);
                checker.run().unwrap_or_else(|errors| panic!("seed {seed}: {errors:?}\n{function}"));
            }
        }
        assert!(spills > 100, "the functions hardly need spills: {spills}");
    }
}
