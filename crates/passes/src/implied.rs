//! Leaves out branches whose own way the next branch takes too.
//!
//! A branch on a value, with nothing between it and another branch on the same value: if whatever the first one sends away, the second would
//! send to the same target with the same arguments, the first is not needed. A row of comparisons that all mean the same becomes one.
//! Guarantees that where the second branch goes on, the kernel's verifier knows as much as before: what the first had told there, the second
//! tells as well. Their common target is one that is reached in several ways, so nothing there may lean on one of them.

use crate::Around;
use crate::interval::Interval;
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let Ok(order) = function.reverse_postorder() else { return false };
    let mut changed = false;
    // From the last to the first: what is left out lets the one above it look further.
    for block in order.into_iter().rev() {
        if let Some(next) = superseded(function, block)
            && let Some((terminator, _)) = &mut function.block_mut(block).terminator
        {
            *terminator = Terminator::Jump(next);
            changed = true;
        }
    }
    changed
}

/// The way to the next branch, if that one decides alone.
fn superseded(function: &Function, block: Block) -> Option<Target> {
    let Some((Terminator::Branch { condition, then, otherwise }, _)) = &function.block(block).terminator
    else {
        return None;
    };
    let on = |op| Condition { op, ..*condition };
    let sent_away = [(then, Some(*condition)), (otherwise, condition.op.negated().map(on))];
    let mut ways = sent_away.into_iter().zip([otherwise, then]);
    ways.find(|((away, is_sent), next)| {
        is_sent.is_some_and(|is_sent| is_sent_too(function, &is_sent, away, next.block))
    })
    .map(|(_, next)| next.clone())
}

/// Blocks in a row that are looked at.
const LOOKED_AT: usize = 16;

/// Whether what `is_sent` holds for comes from `next` to `away` all the same, past jumps and branches on the same value alone.
fn is_sent_too(function: &Function, is_sent: &Condition, away: &Target, next: Block) -> bool {
    let Operand::Imm(by) = is_sent.rhs else { return false };
    let mut sent = Interval::FULL;
    sent.restrict(is_sent.op, by as i64 as u64);
    let mut data = function.block(next);
    for _ in 0..LOOKED_AT {
        if !(data.insts.is_empty() && data.params.is_empty()) {
            return false;
        }
        let target = match &data.terminator {
            Some((Terminator::Jump(target), _)) => target,
            Some((Terminator::Branch { condition, then, otherwise }, _)) if condition.lhs == is_sent.lhs => {
                let Operand::Imm(against) = condition.rhs else { return false };
                match sent.decide(condition.op, against as i64 as u64) {
                    Some(true) => then,
                    Some(false) => otherwise,
                    None => return false,
                }
            }
            _ => return false,
        };
        if target == away {
            return true;
        }
        data = function.block(target.block);
    }
    false
}
