//! Stack frames: where a function's slots and spilled registers lie, and whether the nested frames of every call chain
//! fit what the kernel gives.

use crate::error::EmitError;
use moonhook_ir::{Function, FunctionKind, Module, Op, Slot};

/// `MAX_BPF_STACK` (include/linux/filter.h): for all nested frames together.
pub const MAX_STACK: u32 = 512;
/// `MAX_CALL_FRAMES` (include/linux/bpf_verifier.h).
const MAX_FRAMES: usize = 8;
/// The verifier rounds every frame up to this when it adds them (`round_up_stack_depth`; 16 with a JIT, 32 without).
const FRAME_ROUNDING: u32 = 32;
/// Spilled registers are whole, aligned words: the verifier then knows what they hold.
const WORD: u32 = 8;

/// The frame of one function: its slots from the top, spilled registers below.
#[derive(Clone, Debug)]
pub struct SlotOffsets {
    function: String,
    offsets: Vec<i32>,
    bytes: u32,
}

impl SlotOffsets {
    pub fn new(function: &Function) -> Result<Self, EmitError> {
        let mut bytes = 0u32;
        let mut offsets = Vec::with_capacity(function.slots.len());
        for size in &function.slots {
            bytes = bytes.saturating_add(size.next_multiple_of(WORD));
            if bytes > MAX_STACK {
                return Err(too_large(&function.name, bytes));
            }
            offsets.push(-(bytes as i32));
        }
        Ok(SlotOffsets { function: function.name.clone(), offsets, bytes })
    }

    /// A slot's first byte, relative to the frame pointer.
    pub fn offset(&self, slot: Slot) -> Result<i32, EmitError> {
        self.offsets.get(slot.index()).copied().ok_or_else(|| EmitError::Malformed {
            problem: format!("{}: the stack slot {slot} does not exist", self.function),
        })
    }

    /// The place of the `index`th spilled register, relative to the frame pointer.
    pub fn spill(&self, index: usize) -> i16 {
        // In range: a frame with more than `MAX_STACK` bytes is refused before this is used.
        -((self.bytes + (index as u32 + 1) * WORD) as i32) as i16
    }

    /// The frame's size in bytes with so many spilled registers.
    pub fn size(&self, spills: usize) -> Result<u32, EmitError> {
        let size = self.bytes.saturating_add((spills as u32).saturating_mul(WORD));
        if size > MAX_STACK { Err(too_large(&self.function, size)) } else { Ok(size) }
    }
}

fn too_large(function: &str, bytes: u32) -> EmitError {
    EmitError::StackTooLarge { function: function.to_string(), bytes, limit: MAX_STACK }
}

/// Checks every chain of calls that starts in a program; `sizes` are the frames' sizes by function.
pub fn check_chains(module: &Module, sizes: &[u32]) -> Result<(), EmitError> {
    let callees: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    let mut below: Vec<Option<Below>> = vec![None; sizes.len()];
    for (index, function) in module.functions.iter().enumerate() {
        let chain = deepest(index, &callees, sizes, &mut below, 0)
            .ok_or_else(|| EmitError::CallsTooDeep { function: function.name.clone(), limit: MAX_FRAMES })?;
        let program = matches!(function.kind, FunctionKind::Program { .. });
        if program && chain.frames > MAX_FRAMES {
            return Err(EmitError::CallsTooDeep { function: function.name.clone(), limit: MAX_FRAMES });
        }
        if program && chain.bytes > MAX_STACK {
            return Err(too_large(&function.name, chain.bytes));
        }
    }
    Ok(())
}

/// The deepest chain of calls that starts with a function.
#[derive(Clone, Copy)]
struct Below {
    frames: usize,
    bytes: u32,
}

fn deepest(
    index: usize,
    callees: &[Vec<usize>],
    sizes: &[u32],
    known: &mut [Option<Below>],
    active: usize,
) -> Option<Below> {
    if let Some(below) = known[index] {
        return Some(below);
    }
    if active > callees.len() {
        return None; // More frames than functions: recursion.
    }
    let mut result = Below { frames: 0, bytes: 0 };
    for &callee in &callees[index] {
        let below = deepest(callee, callees, sizes, known, active + 1)?;
        result.frames = result.frames.max(below.frames);
        result.bytes = result.bytes.max(below.bytes);
    }
    result.frames += 1;
    result.bytes += sizes[index].max(1).next_multiple_of(FRAME_ROUNDING);
    known[index] = Some(result);
    Some(result)
}

fn callees(function: &Function) -> Vec<usize> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let mut callees: Vec<usize> = insts
        .filter_map(|inst| match inst.op {
            Op::Call { function, .. } => Some(function.0 as usize),
            _ => None,
        })
        .collect();
    callees.sort_unstable();
    callees.dedup();
    callees
}
