//! Registers that a call in cold code leaves as they are.
//!
//! A value that is needed behind a call lives in r6 to r9 or in memory, on all paths and from where it is made: also for the packets
//! that never get to the call, although the kernel's JIT saves r6 to r9 for each packet. So a rare call ([`Machine::RareCall`])
//! overwrites no registers as far as the allocator knows, and itself keeps on the stack what lives in r0 to r5.

use crate::assemble::CodeWord;
use crate::isa;
use crate::machine::{CALL_CLOBBERED, Machine, MachineFunction};
use crate::program::Code;
use moonhook_ir::{Function, FunctionKind, Module, Op};
use regalloc2::{Allocation, Block, Edit, Function as _, Inst, InstOrEdit, Operand, OperandKind, Output};
use std::collections::HashMap;

/// Larger functions hardly get by without r6 to r9, and to try takes time. In operations.
const SMALL: usize = 160;

/// Whether rare calls may spare a function r6 to r9: it is a small program without calls but in cold code.
pub fn may_pay(module: &Module, function: &Function) -> bool {
    let is_call = |op: &Op| matches!(op, Op::Call { .. } | Op::Helper { .. });
    let calls = |function: &Function, cold: bool| {
        let blocks = function.blocks.iter().filter(move |block| block.cold == cold);
        blocks.flat_map(|block| &block.insts).filter(|inst| is_call(&inst.op)).count()
    };
    matches!(function.kind, FunctionKind::Program { .. })
        && module.arena().is_none()
        && function.blocks.iter().map(|block| block.insts.len()).sum::<usize>() <= SMALL
        && calls(function, false) == 0
        && calls(function, true) > 0
}

/// Whether the code mentions a register of r6 to r9.
pub fn uses_saved(code: &Code) -> bool {
    let saved = |register: u8| (CALL_CLOBBERED as u8..isa::FRAME).contains(&register);
    code.words.iter().any(|CodeWord { word, .. }| saved(word.dst) || saved(word.src))
}

/// Sets of r0 to r9, a bit each.
type Registers = u16;

/// What the rare calls of a function keep.
#[derive(Default)]
pub struct CallerSaves {
    /// By instruction: the registers that are needed behind the call, of those that it overwrites.
    live: HashMap<usize, Registers>,
    /// All registers that some call puts on the stack, arguments included.
    stored: Registers,
}

impl CallerSaves {
    pub fn find(function: &MachineFunction, allocated: &Output) -> Self {
        let is_rare = |op: Machine| matches!(op, Machine::RareCall(_));
        if !function.insts.iter().any(|inst| is_rare(inst.op)) {
            return CallerSaves::default();
        }
        let mut saves = CallerSaves::default();
        let mut at_entry: Vec<Registers> = vec![0; function.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..function.blocks.len()).rev() {
                let successors = &function.blocks[index].successors;
                let mut live = successors.iter().fold(0, |live, to| live | at_entry[to.index()]);
                let items: Vec<_> = allocated.block_insts_and_edits(function, Block::new(index)).collect();
                for item in items.into_iter().rev() {
                    if let InstOrEdit::Inst(inst) = item
                        && is_rare(function.insts[inst.index()].op)
                    {
                        saves.note(function, allocated, inst, live);
                    }
                    live = before(function, allocated, &item, live);
                }
                changed |= std::mem::replace(&mut at_entry[index], live) != live;
            }
        }
        saves
    }

    fn note(&mut self, function: &MachineFunction, allocated: &Output, inst: Inst, live_behind: Registers) {
        let overwritten: Registers = (1 << CALL_CLOBBERED) - 1;
        let (uses, results) = operands(function, allocated, inst);
        let live = live_behind & !results & overwritten;
        self.live.insert(inst.index(), live);
        self.stored |= live | (uses & overwritten);
    }

    /// How many words of the stack they take.
    pub fn words(&self) -> usize {
        self.stored.count_ones() as usize
    }

    /// The number of a register's word among those.
    pub fn word(&self, register: u8) -> usize {
        (self.stored & ((1 << register) - 1)).count_ones() as usize
    }

    /// The registers to be kept over the call.
    pub fn live(&self, inst: Inst) -> impl Iterator<Item = u8> {
        let live = self.live.get(&inst.index()).copied().unwrap_or(0);
        (0..CALL_CLOBBERED as u8).filter(move |register| live & 1 << register != 0)
    }
}

fn bit(allocation: Allocation) -> Registers {
    allocation.as_reg().map_or(0, |register| 1 << register.hw_enc())
}

/// The registers that an instruction reads, and those that it writes.
fn operands(function: &MachineFunction, allocated: &Output, inst: Inst) -> (Registers, Registers) {
    let of = |kind: OperandKind| {
        let operands = function.inst_operands(inst).iter().zip(allocated.inst_allocs(inst));
        let of_kind = operands.filter(|(operand, _): &(&Operand, _)| operand.kind() == kind);
        of_kind.fold(0, |set, (_, allocation)| set | bit(*allocation))
    };
    (of(OperandKind::Use), of(OperandKind::Def))
}

/// The registers that are needed before an instruction or a move, if `live` are behind it.
fn before(function: &MachineFunction, allocated: &Output, item: &InstOrEdit, live: Registers) -> Registers {
    match item {
        InstOrEdit::Edit(Edit::Move { from, to }) => live & !bit(*to) | bit(*from),
        InstOrEdit::Inst(inst) => {
            let (uses, results) = operands(function, allocated, *inst);
            let clobbered = function
                .inst_clobbers(*inst)
                .into_iter()
                .fold(0, |set, register| set | 1 << register.hw_enc());
            live & !results & !clobbered | uses
        }
    }
}
