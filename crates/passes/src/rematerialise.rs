//! Loops in which headers of the frame are looked for load the frame's address anew in each turn.
//!
//! What a turn proves of the frame's length stays known of its address (`find_good_pkt_pointers`, kernel/bpf/verifier.c), so that the
//! verifier walks the loop once more for each length that a turn may have proved. An address that was loaded in the turn has proved
//! what all paths to the loop's head have in common, and nothing else. That comparison cannot fail: it says what is so already.
//!
//! An address that is loaded behind the head stays: a call may have moved the frame before. No call has where a turn compares something with the
//! end that was loaded first, for then that would be no address any more.

use crate::Around;
use crate::around::context_of;
use crate::values::{Definition, definitions};
use moonhook_ir::*;
use std::collections::HashSet;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let Some(frame) = Frame::find(function) else { return false };
    // Of the frame, not of an address: new addresses do not change it.
    let checks = frame.checks(function, &definitions(function));
    let lengths = proved_lengths(function, &flow, &checks);
    let blocks = function.blocks.len();
    let mut changed = false;
    for &head in &flow.order {
        let Some((Terminator::MayGoto { go, stop }, loc)) = &function.block(head).terminator else {
            continue;
        };
        if !flow.is_loop_header(head)
            || flow.single_predecessor(go.block) != Some(head)
            || !go.args.is_empty()
        {
            continue;
        }
        let (go, stop, loc) = (go.block, stop.clone(), *loc);
        let turn = turn(&flow, head);
        if !checks.iter().any(|check| turn.contains(&check.block)) {
            continue;
        }
        let proved = lengths[head.index()].unwrap_or(0);
        // Blocks that were made here are in front of what they were made for.
        let is_before = |block: Block| block.index() >= blocks || !flow.dominates(go, block);
        let old: Vec<Value> = frame.starts(function, is_before);
        let entry = function.new_block();
        let Frame { context, end, start_disp, .. } = frame;
        let load = Op::Load { size: Size::B4, signed: false, base: context, disp: start_disp };
        let Some(start) = function.push(entry, load, loc) else { continue };
        let to = |block| Target::new(block, Vec::new());
        let next = match proved {
            0 => Terminator::Jump(to(go)),
            proved => {
                let behind = Op::Binary(BinaryOp::Add, start, Operand::Imm(proved));
                let Some(behind) = function.push(entry, behind, loc) else { continue };
                let condition = Condition::new(CompareOp::UGt, behind, end);
                Terminator::Branch { condition, then: stop.clone(), otherwise: to(go) }
            }
        };
        function.block_mut(entry).terminator = Some((next, loc));
        if let Some((terminator, _)) = &mut function.block_mut(head).terminator {
            *terminator = Terminator::MayGoto { go: to(entry), stop };
        }
        let rename = |value: Value| if old.contains(&value) { start } else { value };
        for block in flow.order.iter().filter(|block| flow.dominates(go, **block)) {
            let data = function.block_mut(*block);
            data.insts.iter_mut().for_each(|inst| inst.op.map_values(rename));
            if let Some((terminator, _)) = &mut data.terminator {
                terminator.map_values(rename);
            }
        }
        changed = true;
    }
    changed
}

/// The blocks of one turn of the loop, without its head.
fn turn(flow: &ControlFlow, head: Block) -> HashSet<Block> {
    let back = flow.predecessors(head).iter().copied().filter(|block| flow.dominates(head, *block));
    let mut work: Vec<Block> = back.collect();
    let mut turn = HashSet::new();
    while let Some(block) = work.pop() {
        if block != head && turn.insert(block) {
            work.extend(flow.predecessors(block));
        }
    }
    turn
}

/// By block, how many bytes the frame is known to have on every path to it; `None` where nothing leads.
///
/// A block behind a comparison may have other paths to it, and each of several paths may have a comparison of its own.
fn proved_lengths(function: &Function, flow: &ControlFlow, checks: &[Check]) -> Vec<Option<i32>> {
    let mut lengths: Vec<Option<i32>> = vec![None; function.blocks.len()];
    lengths[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &flow.order {
            let Some(here) = lengths[block.index()] else { continue };
            let Some((terminator, _)) = &function.block(block).terminator else { continue };
            let check = checks.iter().find(|check| check.block == block);
            terminator.for_each_target(|target| {
                let there = match check {
                    Some(check) if check.passed == target.block => here.max(check.bytes),
                    _ => here,
                };
                let known = &mut lengths[target.block.index()];
                let least = known.map_or(there, |known| known.min(there));
                changed |= known.replace(least) != Some(least);
            });
        }
    }
    lengths
}

/// The addresses of the packet.
struct Frame {
    context: Value,
    end: Value,
    /// Where the address of its first byte stands in what the program gets.
    start_disp: i16,
}

/// A comparison with the frame's end behind which so many bytes are known to be there.
struct Check {
    block: Block,
    passed: Block,
    bytes: i32,
}

impl Frame {
    fn find(function: &Function) -> Option<Self> {
        let context = function.context()?;
        let words = context_of(function)?.addresses()?;
        let mut insts = function.blocks.first()?.insts.iter();
        let is_end = |inst: &&Inst| matches!(inst.op, Op::Load { base, disp, .. } if base == context && disp == words.end);
        Some(Frame { context, end: insts.find(is_end)?.result?, start_disp: words.start })
    }

    /// All that was loaded from where the frame's address stands, in blocks that are wanted.
    fn starts(&self, function: &Function, is_wanted: impl Fn(Block) -> bool) -> Vec<Value> {
        let blocks = function.blocks.iter().enumerate();
        let wanted = blocks.filter(|(index, _)| is_wanted(Block(*index as u32)));
        let insts = wanted.flat_map(|(_, block)| &block.insts);
        let is_start = |inst: &&Inst| matches!(inst.op, Op::Load { base, disp, .. } if (base, disp) == (self.context, self.start_disp));
        insts.filter(is_start).filter_map(|inst| inst.result).collect()
    }

    fn checks(&self, function: &Function, definitions: &[Definition]) -> Vec<Check> {
        let starts = self.starts(function, |_| true);
        let mut checks = Vec::new();
        for (index, data) in function.blocks.iter().enumerate() {
            if let Some((Terminator::Branch { condition, then, otherwise }, _)) = &data.terminator
                && (condition.op, condition.rhs) == (CompareOp::UGt, Operand::Value(self.end))
                && let (base, bytes) = sum(condition.lhs, definitions)
                && starts.contains(&base)
                && then.block != otherwise.block
            {
                checks.push(Check { block: Block(index as u32), passed: otherwise.block, bytes });
            }
        }
        checks
    }
}

/// A value as another one plus a constant: what was added may have been computed before, for another access.
fn sum(mut value: Value, definitions: &[Definition]) -> (Value, i32) {
    let mut constant = 0i32;
    while let Definition::Binary(BinaryOp::Add, base, Operand::Imm(more)) = definitions[value.index()]
        && let Some(all) = constant.checked_add(more)
    {
        (value, constant) = (base, all);
    }
    (value, constant)
}
