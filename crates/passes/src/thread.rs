//! Jump threading: where a predecessor already decides a block's branch, it goes to the branch's target directly.
//!
//! Applies to blocks of at most a few pure operations whose values only the block itself uses. A predecessor that ends in
//! a jump gets its own copy of the operations; it also gets a copy of the branch where that tests the result of a
//! comparison (`fold` then joins the two). Guarantees that no loop gets a second entry and no `may_goto` is bypassed:
//! blocks that start loops are left alone.

use crate::values::{Definition, definitions, use_counts};
use moonhook_ir::*;

/// Operations copied into a predecessor at most.
const COPIED: usize = 3;

pub(crate) fn run(function: &mut Function, _maps: &[Map]) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let definitions = definitions(function);
    let counts = use_counts(function);
    let mut changed = false;
    for &block in &flow.order {
        if block == Block(0) || flow.is_loop_header(block) || !is_private(function.block(block), &counts) {
            continue;
        }
        let Some((Terminator::Branch { .. }, _)) = function.block(block).terminator else { continue };
        let copy = function.block(block).clone();
        for &predecessor in &flow.predecessors[block.index()] {
            for edge in 0..2 {
                changed |= thread(function, predecessor, edge, block, &copy, &definitions).is_some();
            }
        }
    }
    changed
}

/// Whether all values of the block are used in it only, and its operations can be copied.
fn is_private(block: &BlockData, counts: &[u32]) -> bool {
    if block.insts.len() > COPIED || !block.insts.iter().all(|inst| inst.op.is_pure()) {
        return false;
    }
    let values: Vec<Value> =
        block.params.iter().copied().chain(block.insts.iter().filter_map(|inst| inst.result)).collect();
    let mut own = vec![0; values.len()];
    let mut count = |value: Value| {
        if let Some(place) = values.iter().position(|own| *own == value) {
            own[place] += 1;
        }
    };
    block.insts.iter().for_each(|inst| inst.op.for_each_value(&mut count));
    if let Some((terminator, _)) = &block.terminator {
        terminator.for_each_value(&mut count);
    }
    values.iter().zip(own).all(|(value, own)| counts[value.index()] == own)
}

/// Redirects one edge, if what it passes decides the branch.
fn thread(
    function: &mut Function,
    from: Block,
    edge: usize,
    to: Block,
    copy: &BlockData,
    definitions: &[Definition],
) -> Option<()> {
    let (terminator, _) = function.block(from).terminator.as_ref()?;
    let target = terminator.target(edge).filter(|target| target.block == to)?;
    let is_jump = matches!(terminator, Terminator::Jump(_));
    let (branch, loc) = copy.terminator.clone()?;
    let Terminator::Branch { condition, then, otherwise } = &branch else { return None };
    let mut known = Known { values: Vec::new(), definitions };
    for (param, arg) in copy.params.iter().zip(&target.args) {
        known.values.push((*param, known.constant(*arg)));
    }
    let args: Vec<(Value, Value)> = copy.params.iter().copied().zip(target.args.iter().copied()).collect();
    for inst in &copy.insts {
        known.values.push((inst.result?, known.evaluate(&inst.op)));
    }
    let decided = known.condition(condition);
    if !is_jump {
        let chosen = if decided? { then } else { otherwise };
        if chosen.args.iter().any(|arg| copy.insts.iter().any(|inst| inst.result == Some(*arg))) {
            return None;
        }
        let mut chosen = chosen.clone();
        chosen.args.iter_mut().for_each(|arg| *arg = substitute(&args, *arg));
        let (terminator, _) = function.block_mut(from).terminator.as_mut()?;
        *terminator.targets_mut().into_iter().nth(edge)? = chosen;
        return Some(());
    }
    let tests_comparison =
        matches!(definitions.get(substitute(&args, condition.lhs).index()), Some(Definition::Compare(_)))
            && condition.rhs.value().is_none()
            && copy.insts.is_empty();
    let mut new = match decided {
        Some(holds) => Terminator::Jump(if holds { then.clone() } else { otherwise.clone() }),
        None if tests_comparison => branch,
        None => return None,
    };
    let renamed = copy_insts(function, from, copy, args);
    new.map_values(|value| substitute(&renamed, value));
    function.block_mut(from).terminator = Some((new, loc));
    Some(())
}

/// Appends copies of the block's operations; gives what stands for its values there.
fn copy_insts(
    function: &mut Function,
    from: Block,
    copy: &BlockData,
    mut renamed: Vec<(Value, Value)>,
) -> Vec<(Value, Value)> {
    for inst in &copy.insts {
        let mut op = inst.op.clone();
        op.map_values(|value| substitute(&renamed, value));
        if let (Some(old), Some(new)) = (inst.result, function.push(from, op, inst.loc)) {
            renamed.push((old, new));
        }
    }
    renamed
}

fn substitute(renamed: &[(Value, Value)], value: Value) -> Value {
    renamed.iter().find(|(old, _)| *old == value).map_or(value, |(_, new)| *new)
}

/// Constants among a block's values, for one predecessor.
struct Known<'a> {
    values: Vec<(Value, Option<i64>)>,
    definitions: &'a [Definition],
}

impl Known<'_> {
    fn constant(&self, value: Value) -> Option<i64> {
        if let Some((_, constant)) = self.values.iter().find(|(known, _)| *known == value) {
            return *constant;
        }
        match self.definitions.get(value.index()) {
            Some(Definition::Const(value)) => Some(*value),
            _ => None,
        }
    }

    fn operand(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Imm(imm) => Some(imm as i64 as u64),
            Operand::Value(value) => self.constant(value).map(|value| value as u64),
        }
    }

    fn evaluate(&self, op: &Op) -> Option<i64> {
        Some(match *op {
            Op::Const(value) => value,
            Op::Binary(op, lhs, rhs) => {
                eval::binary(op, self.constant(lhs)? as u64, self.operand(rhs)?) as i64
            }
            Op::Unary(UnaryOp::Arena, _) => return None,
            Op::Unary(op, value) => eval::unary(op, self.constant(value)? as u64) as i64,
            Op::Compare(condition) => self.condition(&condition)? as i64,
            _ => return None,
        })
    }

    fn condition(&self, condition: &Condition) -> Option<bool> {
        Some(eval::compare(condition.op, self.constant(condition.lhs)? as u64, self.operand(condition.rhs)?))
    }
}
