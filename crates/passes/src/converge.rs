//! Where many paths of the verifier would stay apart, what keeps them apart is hidden.
//!
//! Combined with a zero that the verifier does not know ([`crate::opaque`]), a value is the same number to it on every path, so that the
//! paths become one. That costs packets some instructions, and so is done only where code would be walked many times
//! ([`crate::paths`]), as behind a row of independent conditions. Addresses cannot be hidden; offsets that become part of an address without a
//! mask are hidden and masked.
//!
//! Reads functions that have been optimised: no other pass can look through what is hidden here.

use crate::Around;
use crate::opaque::Opaque;
use crate::paths::{Fork, Paths};
use crate::proofs::Proofs;
use crate::values::definitions;
use moonhook_ir::*;
use std::collections::{HashMap, HashSet};

/// How often code may be walked on the average, by the estimate, which is some times what the verifier then does: many a state that is
/// kept apart is never reached.
const TOLERATED: f64 = 25.0;

/// The largest offset into the frame that is masked: what is added to it stays below the verifier's limit (`MAX_PACKET_OFF`).
const MOST_MASKED: u64 = 0x1fff;

pub(crate) fn run(function: &mut Function, around: &Around) -> bool {
    let Some(zero) = around.maps.iter().position(Map::is_opaque_zero) else { return false };
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let opaque = Opaque::find(function, around.maps);
    let paths = Paths::find(function, &flow, &opaque);
    let apart = paths.apart(&flow);
    let size = |block: &Block| 1.0 + function.block(*block).insts.len() as f64;
    let states = |block: &Block| paths.states(&apart[block.index()]);
    let sizes: Vec<(f64, f64)> = flow.order.iter().map(|block| (size(block), states(block))).collect();
    let Some(few) = few(&sizes) else { return false };
    let mut hidden = vec![false; paths.forks.len()];
    for forks in apart.iter().filter(|forks| paths.states(forks) > few) {
        forks.iter().for_each(|fork| hidden[*fork as usize] = true);
    }
    let proofs = Proofs::find(function, &flow, &definitions(function));
    let bits: Vec<u64> = (0..function.value_count).map(|value| paths.bits(Value(value))).collect();
    let mut hiding = Hiding { zero: MapId(zero as u32), renamed: HashMap::new(), copies: HashSet::new() };
    let forks: Vec<Fork> =
        paths.forks.into_iter().zip(hidden).filter(|(_, hide)| *hide).map(|(fork, _)| fork).collect();
    // The last ones of a block first, so that places stay what they are.
    for fork in forks.iter().rev() {
        let how = |value: &Value| match (proofs.is_pointer(*value), proofs.contains(*value)) {
            (true, _) => None,
            (false, false) => Some((*value, None)),
            (false, true) if bits[value.index()] > MOST_MASKED => None,
            (false, true) => Some((*value, Some(bits[value.index()] as i32))),
        };
        hiding.hide(function, fork, fork.values.iter().filter_map(how).collect());
    }
    hiding.rename(function)
}

/// How many states may be kept apart in a block, given the blocks' sizes and states; `None` where none of them is too much.
fn few(blocks: &[(f64, f64)]) -> Option<f64> {
    let size: f64 = blocks.iter().map(|(size, _)| size).sum();
    let walked = |few: f64| -> f64 {
        blocks.iter().map(|(size, states)| if *states > few { *size } else { size * states }).sum()
    };
    let limits = [f64::INFINITY, 64.0, 16.0, 4.0, 1.0];
    limits.into_iter().find(|few| walked(*few) <= TOLERATED * size).filter(|few| few.is_finite())
}

struct Hiding {
    zero: MapId,
    /// What takes the place of each value, but in what hides it.
    renamed: HashMap<Value, Value>,
    copies: HashSet<Value>,
}

impl Hiding {
    /// Puts hidden copies of values behind where the fork makes them, with a mask for those that need one.
    fn hide(&mut self, function: &mut Function, fork: &Fork, values: Vec<(Value, Option<i32>)>) {
        if values.is_empty() {
            return;
        }
        let at = fork.inst.map_or(0, |inst| inst + 1);
        let data = function.block(fork.block);
        let loc = data.insts.get(at).map(|inst| inst.loc).or(data.terminator.as_ref().map(|(_, loc)| *loc));
        let loc = loc.unwrap_or_default();
        let mut insts = Vec::new();
        let mut make = |op: Op| {
            let result = function.new_value();
            insts.push(Inst { op, result: Some(result), loc });
            result
        };
        let base = make(Op::DataAddress { map: self.zero, offset: 0 });
        let zero = make(Op::Load { size: Size::B8, signed: false, base, disp: 0 });
        for (value, mask) in values {
            let mut copy = make(Op::Binary(BinaryOp::Xor, zero, Operand::Value(value)));
            self.copies.insert(copy);
            if let Some(mask) = mask {
                copy = make(Op::Binary(BinaryOp::And, copy, Operand::Imm(mask)));
            }
            self.renamed.insert(value, copy);
        }
        function.block_mut(fork.block).insts.splice(at..at, insts);
    }

    fn rename(&self, function: &mut Function) -> bool {
        let rename = |used: Value| self.renamed.get(&used).copied().unwrap_or(used);
        for block in &mut function.blocks {
            let others = block.insts.iter_mut();
            others
                .filter(|inst| !inst.result.is_some_and(|result| self.copies.contains(&result)))
                .for_each(|inst| inst.op.map_values(rename));
            if let Some((terminator, _)) = &mut block.terminator {
                terminator.map_values(rename);
            }
        }
        !self.renamed.is_empty()
    }
}
