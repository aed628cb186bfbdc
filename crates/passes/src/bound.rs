//! Offsets that were bounded before a loop are bounded again behind it.
//!
//! Coming round a loop, the verifier forgets the bounds of numbers that are not what they were when it was there last
//! (`widen_imprecise_scalars`, kernel/bpf/verifier.c). For a loop within another one that was in an earlier turn of the other, so
//! that it may forget what the inner loop does not touch. It does the same at each `may_goto` that it was at in an earlier turn
//! (`check_cond_jmp_op`), also if the loop that this stands for has one turn only. What a loop compares is hidden from the verifier before the
//! loop ([`crate::opaque`]), and may be part of an address behind it. An offset that is added to an address must have bounds: where a loop lies
//! between what bounds it and its use, it gets a mask there.

use crate::Around;
use crate::opaque::Opaque;
use crate::paths::Paths;
use crate::proofs::Proofs;
use crate::reach::Reach;
use crate::values::{Definition, definitions};
use moonhook_ir::*;

/// Larger offsets have a comparison next to their use, or are sums of parts that are masked one by one: with a mask of more bits they could
/// be larger to the verifier than it has them in packets (`MAX_PACKET_OFF`).
const MOST_MASKED: u64 = 0x7fff;

/// The largest sum of masked parts; room for what is read there is left below `MAX_PACKET_OFF`.
const MOST_SUM: u64 = 0xfc00;

/// Sums that are taken apart for one offset.
const MOST_SUMS: usize = 4;

/// What an offset is the sum of, each with its mask if it needs one.
type Parts = Vec<(Value, Option<u64>)>;

pub(crate) fn run(function: &mut Function, around: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let mut loops: Vec<Block> =
        flow.order.iter().copied().filter(|block| flow.is_loop_header(*block)).collect();
    if loops.is_empty() {
        return false;
    }
    let (flow, reach) = (&flow, &Reach::new(function, &flow));
    loops.extend(behind_may_goto(function, flow, reach));
    let definitions = definitions(function);
    let proofs = Proofs::find(function, flow, &definitions);
    let opaque = Opaque::find(function, around.maps);
    let paths = Paths::find(function, flow, &opaque);
    let mut plan = Vec::new();
    let forgotten = Forgotten::find(function, flow, (reach, &opaque), &loops);
    for &block in &flow.order {
        for (at, inst) in function.block(block).insts.iter().enumerate() {
            if let Op::Binary(BinaryOp::Add, base, Operand::Value(offset)) = inst.op
                && proofs.is_pointer(base)
                && forgotten.at(offset, block)
                && let Some(parts) = parts(offset, block, &definitions, &paths, &forgotten)
            {
                plan.push((block, at, base, parts));
            }
        }
    }
    let changed = !plan.is_empty();
    // The last ones of a block first, so that places stay what they are.
    for (block, at, base, parts) in plan.into_iter().rev() {
        let loc = function.block(block).insts[at].loc;
        let (insts, offset) = bounded(function, &parts, loc);
        let block = &mut function.block_mut(block).insts;
        block[at].op = Op::Binary(BinaryOp::Add, base, Operand::Value(offset));
        block.splice(at..at, insts);
    }
    changed
}

/// What the offset is the sum of in `block`, so that masks bound all of it; `None` if they cannot.
fn parts(
    offset: Value,
    block: Block,
    definitions: &[Definition],
    paths: &Paths<'_>,
    forgotten: &Forgotten<'_>,
) -> Option<Parts> {
    let (mut found, mut work, mut sums, mut most) = (Parts::new(), vec![offset], 0, 0);
    while let Some(part) = work.pop() {
        let bits = paths.bits(part);
        if bits <= MOST_MASKED {
            found.push((part, forgotten.at(part, block).then_some(bits)));
            most += bits;
            continue;
        }
        let Definition::Binary(BinaryOp::Add, a, Operand::Value(b)) = definitions[part.index()] else {
            return None;
        };
        work.extend([b, a]);
        sums += 1;
        if sums > MOST_SUMS {
            return None;
        }
    }
    (most <= MOST_SUM).then_some(found)
}

/// The instructions that add the parts, and their sum.
fn bounded(function: &mut Function, parts: &Parts, loc: Loc) -> (Vec<Inst>, Value) {
    let mut insts = Vec::new();
    let mut make = |op: Op| {
        let result = function.new_value();
        insts.push(Inst { op, result: Some(result), loc });
        result
    };
    let mut sum = None;
    for &(part, mask) in parts {
        let part = match mask {
            Some(mask) => make(Op::Binary(BinaryOp::And, part, Operand::Imm(mask as i32))),
            None => part,
        };
        sum = Some(match sum {
            Some(sum) => make(Op::Binary(BinaryOp::Add, sum, Operand::Value(part))),
            None => part,
        });
    }
    let sum = sum.expect("an offset has a part at least");
    (insts, sum)
}

/// Where the blocks lead that end in a `may_goto` and are in a loop.
fn behind_may_goto(function: &Function, flow: &ControlFlow, reach: &Reach) -> Vec<Block> {
    let mut behind = Vec::new();
    for &block in flow.order.iter().filter(|block| reach.of(**block, **block)) {
        if let Some((terminator @ Terminator::MayGoto { .. }, _)) = &function.block(block).terminator {
            terminator.for_each_target(|target| behind.push(target.block));
        }
    }
    behind
}

struct Forgotten<'a> {
    flow: &'a ControlFlow,
    reach: &'a Reach,
    /// The starts of loops, and what is behind each `may_goto` in one.
    loops: &'a [Block],
    /// By value: where it is computed, and whether the bounds of what it is computed from may be forgotten there.
    defined: Vec<(Block, bool)>,
}

impl<'a> Forgotten<'a> {
    fn find(
        function: &Function,
        flow: &'a ControlFlow,
        (reach, opaque): (&'a Reach, &Opaque),
        loops: &'a [Block],
    ) -> Self {
        let defined = vec![(Block(0), false); function.value_count as usize];
        let mut forgotten = Forgotten { flow, reach, loops, defined };
        let definitions = definitions(function);
        for &block in &flow.order {
            let data = function.block(block);
            for (place, param) in data.params.iter().enumerate() {
                let mut lost = false;
                if !flow.is_loop_header(block) {
                    for before in flow.predecessors(block) {
                        let Some((terminator, _)) = &function.block(*before).terminator else { continue };
                        terminator.for_each_target(|target| {
                            lost |= target.block == block && forgotten.at(target.args[place], *before);
                        });
                    }
                }
                forgotten.defined[param.index()] = (block, lost);
            }
            for result in data.insts.iter().filter_map(|inst| inst.result) {
                let lost = match definitions[result.index()] {
                    // A mask bounds whatever it is applied to.
                    Definition::Binary(BinaryOp::And, _, Operand::Imm(mask)) if mask >= 0 => false,
                    // What is hidden has never had any.
                    Definition::Binary(BinaryOp::Xor, zero, _) if opaque.is_zero(zero) => true,
                    Definition::Binary(_, lhs, rhs) => {
                        forgotten.at(lhs, block) || rhs.value().is_some_and(|rhs| forgotten.at(rhs, block))
                    }
                    Definition::Unary(_, value) => forgotten.at(value, block),
                    _ => false,
                };
                forgotten.defined[result.index()] = (block, lost);
            }
        }
        forgotten
    }

    /// Whether the value's bounds may be forgotten in `block`.
    fn at(&self, value: Value, block: Block) -> bool {
        let (defined, lost) = self.defined[value.index()];
        let between = |head: &Block| {
            *head != defined && self.flow.dominates(defined, *head) && self.reach.of(*head, block)
        };
        lost || self.loops.iter().any(between)
    }
}
