//! Comparisons from which the verifier learns what would keep paths apart behind them: they are made on copies.
//!
//! A branch narrows what the verifier knows of the values that it compares, on each of its paths otherwise. Where the paths have met
//! again and the value decides another branch or becomes part of an address, the verifier holds on to what it knew of it before
//! (`mark_chain_precision`, kernel/bpf/verifier.c) and walks what follows once for each path, and for each combination of paths where
//! there are several such branches. In a loop any value that is still needed does that, for there states have to be alike in all
//! they know (`RANGE_WITHIN`). A copy that nobody needs behind the branch takes what was learned with it.
//!
//! Reads functions that have been optimised: facts of branches on copies are of no use to other passes. Leaves alone comparisons that may
//! be the proof of an access, which are those of values that become part of an address without a mask.

use crate::Around;
use crate::liveness::live_at_starts;
use crate::opaque::Decisive;
use crate::proofs::Proofs;
use crate::reach::Reach;
use crate::values::{Definition, definitions};
use moonhook_ir::*;
use std::collections::{BTreeMap, HashMap};

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let reach = Reach::new(function, &flow);
    let definitions = definitions(function);
    let proofs = Proofs::find(function, &flow, &definitions);
    let uses = Uses::find(function, &definitions);
    let live = Live::find(function, &flow, &definitions);
    let mut copied: Vec<(Block, [bool; 2])> = Vec::new();
    for &block in &flow.order {
        let Some((Terminator::Branch { condition, then, otherwise }, _)) = &function.block(block).terminator
        else {
            continue;
        };
        let again = |value: Value| {
            !proofs.contains(value)
                && !proofs.is_proof(condition, value)
                && live.at(value, then.block)
                && live.at(value, otherwise.block)
                && uses.of(value, &definitions).iter().any(|used| {
                    let met = reach.of(then.block, used.block) && reach.of(otherwise.block, used.block);
                    let in_loop = reach.of(used.block, block) && reach.of(block, used.block);
                    (used.block, used.compares) != (block, true) && met && (used.decides || in_loop)
                })
        };
        let sides = [again(condition.lhs), condition.rhs.value().is_some_and(again)];
        if sides != [false; 2] {
            copied.push((block, sides));
        }
    }
    let comparisons = comparisons(function, &copied, &definitions);
    if walked(function, &flow, &reach, &comparisons, &live) <= TOLERATED {
        return false;
    }
    for (block, sides) in copied {
        copy(function, block, sides);
    }
    true
}

/// How often code may be walked on the average, by the estimate.
const TOLERATED: f64 = 4.0;

/// A comparison that might be made on a copy.
struct Comparison {
    paths: [Block; 2],
    /// Each of several such doubles what is known of the value; others add one case.
    of_bits: bool,
}

/// By value, or what it is the sum of.
fn comparisons(
    function: &Function,
    copied: &[(Block, [bool; 2])],
    definitions: &[Definition],
) -> BTreeMap<Value, Vec<Comparison>> {
    let mut comparisons: BTreeMap<Value, Vec<Comparison>> = BTreeMap::new();
    for (block, sides) in copied {
        let terminator = function.block(*block).terminator.as_ref();
        let Some((Terminator::Branch { condition, then, otherwise }, _)) = terminator else { continue };
        for (value, is) in [Some(condition.lhs), condition.rhs.value()].into_iter().zip(sides) {
            if let Some(value) = value.filter(|_| *is) {
                let of_bits = condition.op == CompareOp::Test;
                let comparison = Comparison { paths: [then.block, otherwise.block], of_bits };
                comparisons.entry(root(value, definitions)).or_default().push(comparison);
            }
        }
    }
    comparisons
}

/// How often the verifier may walk each instruction, on the average, because of the comparisons.
fn walked(
    function: &Function,
    flow: &ControlFlow,
    reach: &Reach,
    comparisons: &BTreeMap<Value, Vec<Comparison>>,
    live: &Live,
) -> f64 {
    let of_value = |comparisons: &Vec<Comparison>, block: Block| {
        let met = |path: &Comparison| path.paths.iter().all(|path| reach.of(*path, block));
        let (mut bits, mut cases) = (0, 1.0);
        for comparison in comparisons.iter().filter(|comparison| met(comparison)) {
            match comparison.of_bits {
                true => bits += 1,
                false => cases += 1.0,
            }
        }
        cases * 2f64.powi(bits)
    };
    let states = |block: Block| -> f64 {
        let needed = comparisons.iter().filter(|(value, _)| live.at(**value, block));
        needed.map(|(_, comparisons)| of_value(comparisons, block)).product()
    };
    let size = |block: &Block| 1.0 + function.block(*block).insts.len() as f64;
    let sum: f64 = flow.order.iter().map(|block| size(block) * states(*block).min(1e6)).sum();
    let total: f64 = flow.order.iter().map(size).sum();
    sum / total
}

/// Lets the branch at the end of the block compare copies.
fn copy(function: &mut Function, block: Block, [left, right]: [bool; 2]) {
    let Some((Terminator::Branch { condition, .. }, loc)) = &function.block(block).terminator else { return };
    let (mut condition, loc) = (*condition, *loc);
    let mut unlinked =
        |value: Value| function.push(block, Op::Unary(UnaryOp::Unlink, value), loc).unwrap_or(value);
    if left {
        condition.lhs = unlinked(condition.lhs);
    }
    if let (true, Operand::Value(value)) = (right, condition.rhs) {
        condition.rhs = Operand::Value(unlinked(value));
    }
    if let Some((Terminator::Branch { condition: old, .. }, _)) = &mut function.block_mut(block).terminator {
        *old = condition;
    }
}

/// A value without the constants that are added to it: what is learned of a sum is learned of the value (`BPF_ADD_CONST`).
fn root(mut value: Value, definitions: &[Definition]) -> Value {
    while let Some(Definition::Binary(BinaryOp::Add | BinaryOp::Sub, base, Operand::Imm(_))) =
        definitions.get(value.index())
    {
        value = *base;
    }
    value
}

/// Where compared values are needed, or values plus constants.
struct Live {
    /// By value, of the one that it is the sum of.
    number: Vec<usize>,
    starts: Vec<Vec<u64>>,
}

impl Live {
    fn find(function: &Function, flow: &ControlFlow, definitions: &[Definition]) -> Self {
        let mut numbers: HashMap<Value, usize> = HashMap::new();
        for data in flow.order.iter().map(|block| function.block(*block)) {
            if let Some((Terminator::Branch { condition, .. }, _)) = &data.terminator {
                condition.for_each_value(|value| {
                    let next = numbers.len();
                    numbers.entry(root(value, definitions)).or_insert(next);
                });
            }
        }
        let all = (0..function.value_count).map(Value);
        let number: Vec<usize> =
            all.map(|value| numbers.get(&root(value, definitions)).copied().unwrap_or(usize::MAX)).collect();
        let starts = live_at_starts(function, flow, &number, numbers.len());
        Live { number, starts }
    }

    fn at(&self, value: Value, block: Block) -> bool {
        let number = self.number[value.index()];
        number != usize::MAX && self.starts[block.index()][number / 64] >> (number % 64) & 1 != 0
    }
}

/// A use of a value, or of the value plus a constant.
struct Use {
    block: Block,
    /// A branch or an address depends on it.
    decides: bool,
    /// It is the condition of the block's branch.
    compares: bool,
}

struct Uses {
    by_root: Vec<Vec<Use>>,
}

impl Uses {
    fn find(function: &Function, definitions: &[Definition]) -> Self {
        let decisive = Decisive::find(function);
        let mut uses = Uses { by_root: Vec::new() };
        uses.by_root.resize_with(function.value_count as usize, Vec::new);
        for (index, data) in function.blocks.iter().enumerate() {
            let block = Block(index as u32);
            let mut note = |value: Value, decides: bool, compares: bool| {
                uses.by_root[root(value, definitions).index()].push(Use { block, decides, compares });
            };
            for inst in &data.insts {
                let decides = match &inst.op {
                    op if op.is_pure() && !matches!(op, Op::Compare(_)) => {
                        inst.result.is_some_and(|result| decisive.contains(result))
                    }
                    Op::Store { base, value, .. } => {
                        value
                            .value()
                            .into_iter()
                            .for_each(|value| note(value, decisive.contains(value), false));
                        note(*base, true, false);
                        continue;
                    }
                    _ => true,
                };
                inst.op.for_each_value(|value| note(value, decides, false));
            }
            let Some((terminator, _)) = &data.terminator else { continue };
            match terminator {
                Terminator::Branch { condition, .. } => {
                    condition.for_each_value(|value| note(value, true, true))
                }
                Terminator::Return(Operand::Value(value)) => note(*value, true, false),
                _ => {}
            }
            terminator.for_each_target(|target| {
                let params = &function.block(target.block).params;
                params.iter().zip(&target.args).for_each(|(param, arg)| {
                    note(*arg, decisive.contains(*param), false);
                });
            });
        }
        uses
    }

    fn of(&self, value: Value, definitions: &[Definition]) -> &[Use] {
        &self.by_root[root(value, definitions).index()]
    }
}
