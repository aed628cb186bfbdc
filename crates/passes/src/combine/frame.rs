//! How large a function's stack frame will be, by estimate: its slots, and a word for each value that finds no register.
//!
//! The register allocator decides that later and knows more; the estimate is for comparing chains of calls.

use crate::liveness::Liveness;
use moonhook_ir::*;

/// Registers for values; the frame pointer is none.
const REGISTERS: usize = 10;
/// Registers that keep their values over calls.
const SAVED: usize = 4;

/// Bytes.
pub fn estimate(function: &Function) -> u32 {
    let slots: u32 = function.slots.iter().sum();
    slots + 8 * spills(function) as u32
}

fn spills(function: &Function) -> usize {
    let Some(liveness) = Liveness::new(function) else { return 0 };
    let mut most = 0;
    for (index, block) in function.blocks.iter().enumerate() {
        let mut live = liveness.at_end(Block(index as u32));
        most = most.max(live.len().saturating_sub(REGISTERS));
        for inst in block.insts.iter().rev() {
            if let Some(result) = inst.result {
                live.remove(result);
            }
            let registers =
                if matches!(inst.op, Op::Helper { .. } | Op::Call { .. }) { SAVED } else { REGISTERS };
            most = most.max(live.len().saturating_sub(registers));
            inst.op.for_each_value(|value| live.insert(value));
        }
    }
    most
}
