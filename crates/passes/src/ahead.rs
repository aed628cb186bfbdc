//! Compares with a packet's end for all that is read further on, where what is shorter ends in the same way wherever that is noticed.
//!
//! A comparison of `base + n` with the end, and behind it, past operations without effect and branches whose other ways are the same exit, one of
//! `base + m` with a larger `m`, which sends what is too short to that exit, too: the first one compares for `m` at once. What is shorter than that
//! comes to the exit all the same, by whichever branch it came before. The second comparison is left to [`crate::branch_facts`], which knows then.
//! Guarantees that the kernel's verifier is told as much as before: the larger number on the same pointer, earlier.

use crate::Around;
use crate::around::context_of;
use crate::values::{Definition, definitions};
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let Some(end) = function.context().zip(context_of(function).and_then(|context| context.addresses()))
    else {
        return false;
    };
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let definitions = definitions(function);
    let look = Look { function, flow: &flow, definitions: &definitions, end: (end.0, end.1.end) };
    let blocks = 0..function.blocks.len() as u32;
    let found: Vec<_> =
        blocks.filter_map(|block| look.further(Block(block)).map(|more| (Block(block), more))).collect();
    for (block, (base, bytes)) in &found {
        let pointer = function.new_value();
        let data = function.block_mut(*block);
        let Some((Terminator::Branch { condition, .. }, loc)) = &mut data.terminator else { continue };
        let op = Op::Binary(BinaryOp::Add, *base, Operand::Imm(*bytes));
        data.insts.push(Inst { op, result: Some(pointer), loc: *loc });
        condition.lhs = pointer;
    }
    !found.is_empty()
}

/// Blocks in a row that are looked at.
const LOOKED_AT: usize = 16;

/// Blocks of constants that an exit leads through.
const PASSED: usize = 4;

/// The verifier learns nothing from larger ones (`MAX_PACKET_OFF`, kernel/bpf/verifier.c).
const MOST: i64 = 0xffff;

/// Where a target leads to, past constants that are made on the way.
#[derive(PartialEq)]
enum Exit {
    To(Block, Vec<Argument>),
    Return(Argument),
}

/// What is passed there.
#[derive(PartialEq)]
enum Argument {
    Constant(i64),
    Value(Value),
}

/// A comparison with the packet's end: so many bytes from a pointer on, the end as it was loaded, and the way of packets that have fewer.
struct Check<'a> {
    base: Value,
    bytes: i64,
    end: Value,
    away: &'a Target,
    go: &'a Target,
}

struct Look<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    definitions: &'a [Definition],
    /// Where the context has the packet's end.
    end: (Value, i16),
}

impl<'a> Look<'a> {
    /// For how many bytes from which pointer on a block may compare instead, if that is more than it does.
    fn further(&self, block: Block) -> Option<(Value, i32)> {
        let first = self.check(block)?;
        let exit = self.exit(first.away);
        let (mut most, mut at) = (first.bytes, first.go);
        for _ in 0..LOOKED_AT {
            let data = self.function.block(at.block);
            let is_alone = self.flow.single_predecessor(at.block).is_some() && data.params.is_empty();
            if !is_alone || data.insts.iter().any(|inst| inst.op.has_effect()) {
                break;
            }
            at = match (self.check(at.block), &data.terminator) {
                (Some(check), _) if self.exit(check.away) == exit => {
                    if (check.base, check.end) == (first.base, first.end) {
                        most = most.max(check.bytes);
                    }
                    check.go
                }
                (_, Some((Terminator::Jump(next), _))) => next,
                (_, Some((Terminator::Branch { then, otherwise, .. }, _))) => {
                    if self.exit(then) == exit {
                        otherwise
                    } else if self.exit(otherwise) == exit {
                        then
                    } else {
                        break;
                    }
                }
                _ => break,
            };
        }
        let more = i32::try_from(most).ok().filter(|_| most > first.bytes)?;
        Some((first.base, more))
    }

    /// The comparison that a block ends with.
    fn check(&self, block: Block) -> Option<Check<'a>> {
        let Some((Terminator::Branch { condition, then, otherwise }, _)) =
            &self.function.block(block).terminator
        else {
            return None;
        };
        let Condition { op: CompareOp::UGt, lhs, rhs: Operand::Value(end) } = *condition else { return None };
        match self.definitions[end.index()] {
            Definition::Load { size: Size::B4, base, disp, .. } if self.end == (base, disp) => {}
            _ => return None,
        }
        let (mut base, mut bytes) = (lhs, 0);
        while let Definition::Binary(BinaryOp::Add, inner, Operand::Imm(imm)) = self.definitions[base.index()]
        {
            base = inner;
            bytes += i64::from(imm);
        }
        (1..MOST).contains(&bytes).then_some(Check { base, bytes, end, away: then, go: otherwise })
    }

    fn exit(&self, target: &Target) -> Exit {
        let argument = |value: Value| match self.definitions[value.index()] {
            Definition::Const(constant) => Argument::Constant(constant),
            _ => Argument::Value(value),
        };
        let mut target = target;
        for _ in 0..PASSED {
            let data = self.function.block(target.block);
            let only_constants = data.insts.iter().all(|inst| matches!(inst.op, Op::Const(_)));
            if !(only_constants && data.params.is_empty() && target.args.is_empty()) {
                break;
            }
            match &data.terminator {
                Some((Terminator::Jump(next), _)) => target = next,
                Some((Terminator::Return(Operand::Imm(imm)), _)) => {
                    return Exit::Return(Argument::Constant((*imm).into()));
                }
                Some((Terminator::Return(Operand::Value(value)), _)) => {
                    return Exit::Return(argument(*value));
                }
                _ => break,
            }
        }
        Exit::To(target.block, target.args.iter().map(|value| argument(*value)).collect())
    }
}
