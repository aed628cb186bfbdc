//! Folds branches whose outcome a dominating branch has settled.
//!
//! Walks the dominator tree. Where a block has one incoming edge and that is a branch's, the condition or its negation
//! holds in it and in all blocks it dominates. Three kinds of facts are kept: values against constants (as ranges and
//! exclusions), values against values (the same condition or its exact negation), and how many bytes from a packet pointer
//! on lie before the packet's end.
//! Guarantees that the kernel's verifier loses nothing: it has drawn the same conclusions from the same branch on the same
//! values. For two values it has so only if it knew as much of them then, so such a fact does not outlive a later fact
//! about either of them. A packet-length check goes only if one at least as strong on the same pointer dominates it.

use crate::Around;
use crate::around::context_of;
use crate::interval::Interval;
use crate::values::{Definition, definitions};
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let definitions = definitions(function);
    let mut facts = Facts {
        list: Vec::new(),
        latest: vec![NONE; function.value_count as usize],
        end: function
            .context()
            .zip(context_of(function).and_then(|context| context.addresses()).map(|at| at.end)),
        definitions: &definitions,
    };
    let mut changed = false;
    let mut stack = vec![Step::Enter(Block(0))];
    while let Some(step) = stack.pop() {
        let block = match step {
            Step::Leave(length) => {
                facts.forget(length);
                continue;
            }
            Step::Enter(block) => block,
        };
        stack.push(Step::Leave(facts.list.len()));
        stack.extend(flow.dominated(block).iter().map(|child| Step::Enter(*child)));
        if block != Block(0)
            && let Some(above) = flow.single_predecessor(block)
            && let Some((Terminator::Branch { condition, then, .. }, _)) = &function.block(above).terminator
        {
            facts.learn(*condition, then.block == block);
        }
        if let Some((terminator, _)) = &mut function.block_mut(block).terminator
            && let Terminator::Branch { condition, then, otherwise } = terminator
            && let Some(holds) = facts.decide(*condition)
        {
            *terminator = Terminator::Jump(if holds { then.clone() } else { otherwise.clone() });
            changed = true;
        }
    }
    changed
}

enum Step {
    Enter(Block),
    Leave(usize),
}

#[derive(Clone, Copy)]
enum Fact {
    Constant {
        op: CompareOp,
        by: u64,
        holds: bool,
    },
    Values {
        op: CompareOp,
        rhs: Value,
        holds: bool,
    },
    /// The other value of a fact about two.
    Mentioned,
    /// Bytes from this pointer to `end`: at least, or less than that many.
    Packet {
        bytes: i64,
        end: Value,
        holds: bool,
    },
}

const NONE: u32 = u32::MAX;

/// Facts looked at for one question at most.
const RECENT: usize = 24;

struct Facts<'a> {
    /// Each with its value and the fact before about that value.
    list: Vec<(Fact, Value, u32)>,
    latest: Vec<u32>,
    end: Option<(Value, i16)>,
    definitions: &'a [Definition],
}

impl Facts<'_> {
    fn forget(&mut self, length: usize) {
        for (_, value, before) in self.list.drain(length..).rev() {
            self.latest[value.index()] = before;
        }
    }

    fn add(&mut self, value: Value, fact: Fact) {
        let before = std::mem::replace(&mut self.latest[value.index()], self.list.len() as u32);
        self.list.push((fact, value, before));
    }

    /// The facts about a value, newest first.
    fn about(&self, value: Value) -> impl Iterator<Item = (Fact, u32)> {
        let mut at = self.latest[value.index()];
        std::iter::from_fn(move || {
            let number = at;
            let (fact, _, before) = self.list.get(number as usize)?;
            at = *before;
            Some((*fact, number))
        })
        .take(RECENT)
    }

    fn learn(&mut self, condition: Condition, holds: bool) {
        if let Some((base, bytes, end, within)) = self.packet_check(condition) {
            return self.add(base, Fact::Packet { bytes, end, holds: within == holds });
        }
        let Condition { op, lhs, rhs } = condition;
        match self.constant(rhs) {
            Ok(by) => self.add(lhs, Fact::Constant { op, by, holds }),
            Err(rhs) => {
                self.add(rhs, Fact::Mentioned);
                self.add(lhs, Fact::Values { op, rhs, holds });
            }
        }
    }

    fn decide(&self, condition: Condition) -> Option<bool> {
        if let Some((base, bytes, end, within)) = self.packet_check(condition) {
            return self.decide_packet(base, bytes, end).map(|enough| enough == within);
        }
        match self.constant(condition.rhs) {
            Ok(by) => self.decide_constant(condition, by),
            Err(rhs) => self.decide_values(condition, rhs),
        }
    }

    fn constant(&self, operand: Operand) -> Result<u64, Value> {
        match operand {
            Operand::Imm(imm) => Ok(imm as i64 as u64),
            Operand::Value(value) => match self.definitions[value.index()] {
                Definition::Const(constant) => Ok(constant as u64),
                _ => Err(value),
            },
        }
    }

    fn decide_constant(&self, condition: Condition, by: u64) -> Option<bool> {
        let mut range = Interval::FULL;
        for (fact, _) in self.about(condition.lhs) {
            let Fact::Constant { op, by: known, holds } = fact else { continue };
            if known == by && (op == condition.op || op.negated() == Some(condition.op)) {
                return Some(holds == (op == condition.op));
            }
            restrict(&mut range, op, known, holds);
        }
        // Exclusions tell only at a range's border, which an older fact may have set.
        for (fact, _) in self.about(condition.lhs) {
            if let Fact::Constant { op: op @ (CompareOp::Eq | CompareOp::Ne), by, holds } = fact {
                restrict(&mut range, op, by, holds);
            }
        }
        range.decide(condition.op, by)
    }

    fn decide_values(&self, condition: Condition, rhs: Value) -> Option<bool> {
        let (fact, number) = self.about(condition.lhs).next()?;
        let Fact::Values { op, rhs: other, holds } = fact else { return None };
        // The mention of the right-hand side was noted just before; anything newer may have taught the verifier more.
        let newest = self.latest[rhs.index()];
        if other != rhs || (newest + 1 != number && rhs != condition.lhs) {
            return None;
        }
        if op == condition.op {
            Some(holds)
        } else if op.negated() == Some(condition.op) {
            Some(!holds)
        } else {
            None
        }
    }

    /// For a comparison of `base + constant` with the packet's end: the base, the number of bytes in question, the end,
    /// and whether the condition holds if that many bytes are there.
    fn packet_check(&self, condition: Condition) -> Option<(Value, i64, Value, bool)> {
        let Condition { op, lhs, rhs: Operand::Value(rhs) } = condition else { return None };
        let (op, pointer, end) = if self.is_packet_end(rhs) {
            (op, lhs, rhs)
        } else if self.is_packet_end(lhs) {
            (op.swapped(), rhs, lhs)
        } else {
            return None;
        };
        let (base, offset) = self.split(pointer);
        // The verifier learns nothing from larger ones (MAX_PACKET_OFF, kernel/bpf/verifier.c).
        if !(0..0xffff).contains(&offset) {
            return None;
        }
        match op {
            CompareOp::UGt => Some((base, offset, end, false)),
            CompareOp::ULe => Some((base, offset, end, true)),
            CompareOp::UGe => Some((base, offset + 1, end, false)),
            CompareOp::ULt => Some((base, offset + 1, end, true)),
            _ => None,
        }
    }

    fn is_packet_end(&self, value: Value) -> bool {
        match (self.end, self.definitions[value.index()]) {
            (Some(end), Definition::Load { size: Size::B4, base, disp, .. }) => end == (base, disp),
            _ => false,
        }
    }

    /// A pointer as what it is computed from by adding constants, and the sum of those.
    fn split(&self, pointer: Value) -> (Value, i64) {
        let (mut base, mut offset) = (pointer, 0);
        while let Definition::Binary(BinaryOp::Add, inner, Operand::Imm(imm)) = self.definitions[base.index()]
        {
            base = inner;
            offset += imm as i64;
        }
        (base, offset)
    }

    /// Whether so many bytes are there.
    fn decide_packet(&self, base: Value, bytes: i64, end: Value) -> Option<bool> {
        self.about(base).find_map(|(fact, _)| match fact {
            Fact::Packet { bytes: known, end: of, holds: true } if of == end && known >= bytes => Some(true),
            Fact::Packet { bytes: known, end: of, holds: false } if of == end && known <= bytes => {
                Some(false)
            }
            _ => None,
        })
    }
}

fn restrict(range: &mut Interval, op: CompareOp, by: u64, holds: bool) {
    match (holds, op.negated()) {
        (true, _) => range.restrict(op, by),
        (false, Some(negated)) => range.restrict(negated, by),
        // `x & by` is 0: no range says so.
        (false, None) => {}
    }
}
