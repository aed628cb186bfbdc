//! Stack frames: where a function's slots and spilled registers lie, and whether the nested frames of every call chain
//! fit what the kernel gives.

use crate::error::EmitError;
use moonhook_ir::{Function, FunctionKind, MAX_FUNCTIONS, Module, Op, Slot, helper};

/// `MAX_BPF_STACK` (include/linux/filter.h): for all nested frames together.
pub const MAX_STACK: u32 = 512;
/// What the frames may take, together, of functions that wait for one which makes a tail call: less than 256 bytes
/// (`check_max_stack_depth_subprog`, kernel/bpf/verifier.c).
const MAX_ABOVE_TAIL_CALL: u32 = 255;
/// `MAX_CALL_FRAMES` (include/linux/bpf_verifier.h).
const MAX_FRAMES: usize = 8;
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

    /// The bytes of each slot. Spilled registers below them have no addresses.
    pub fn parts(&self) -> Vec<std::ops::Range<i32>> {
        let ends = [0].into_iter().chain(self.offsets.iter().copied());
        self.offsets.iter().zip(ends).map(|(start, end)| *start..end).collect()
    }

    /// Whether so many spilled registers can be told apart while code is made.
    pub fn check_reach(&self, spills: usize) -> Result<(), EmitError> {
        let size = self.bytes_with(spills);
        if size > i16::MAX as u32 { Err(too_large(&self.function, size)) } else { Ok(()) }
    }

    /// The place of the `index`th spilled register, relative to the frame pointer.
    pub fn spill(&self, index: usize) -> i16 {
        // In range: it is within the words for which `check_reach` was asked.
        -((self.bytes + (index as u32 + 1) * WORD) as i32) as i16
    }

    /// The frame's size in bytes with so many spilled registers.
    pub fn size(&self, spills: usize) -> Result<u32, EmitError> {
        let size = self.bytes_with(spills);
        if size > MAX_STACK { Err(too_large(&self.function, size)) } else { Ok(size) }
    }

    fn bytes_with(&self, spills: usize) -> u32 {
        self.bytes.saturating_add((spills as u32).saturating_mul(WORD))
    }
}

fn too_large(function: &str, bytes: u32) -> EmitError {
    EmitError::StackTooLarge { function: function.to_string(), bytes, limit: MAX_STACK }
}

/// What a library leaves to the program that calls it at least, in bytes of stack; and one frame.
const OF_CALLER: u32 = 32;

/// Checks every chain of calls that starts in a program, and gives the bytes of the largest; `sizes` are the frames' sizes by function. The verifier adds them
/// up rounded (`round_up_stack_depth`, kernel/bpf/verifier.c).
pub fn check_chains(module: &Module, sizes: &[u32]) -> Result<u32, EmitError> {
    let tail_calls: Vec<bool> = module.functions.iter().map(makes_tail_call).collect();
    let of_functions = module.functions.iter().zip(&tail_calls);
    let mut of_subprograms =
        of_functions.filter(|(function, _)| matches!(function.kind, FunctionKind::Subprogram { .. }));
    // Kernels without a JIT have no arenas, and no tail calls from functions.
    let jit = module.arena().is_some() || of_subprograms.any(|(_, makes)| *makes);
    let round = |size: &u32| if jit { size.next_multiple_of(16) } else { size.max(&1).next_multiple_of(32) };
    let frames = sizes.iter().map(round).collect();
    let callees: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    let mut chains = Chains { callees, frames, known: vec![None; sizes.len()] };
    let above = chains.above(&tail_calls);
    let (most_frames, most_bytes) = match module.is_library() {
        true => (MAX_FRAMES - 1, MAX_STACK - OF_CALLER),
        false => (MAX_FRAMES, MAX_STACK),
    };
    let mut deepest = 0;
    for (index, function) in module.functions.iter().enumerate() {
        let name = || function.name.clone();
        let below = chains.below(index, 0).ok_or_else(|| EmitError::Recursion { function: name() })?;
        if !function.is_entry() {
            continue;
        }
        if below.frames > most_frames {
            let chain = chains.names(module, index, |below| below.frames);
            return Err(EmitError::CallsTooDeep { chain, limit: most_frames });
        }
        if below.bytes > most_bytes {
            let chain = chains.names(module, index, |below| below.bytes as usize);
            return Err(EmitError::ChainTooLarge { chain, bytes: below.bytes, limit: most_bytes });
        }
        if above[index] {
            chains.check_tail_calls(module, (&tail_calls, &above), &mut vec![index])?;
        }
        deepest = deepest.max(below.bytes);
        let functions = chains.reached(index);
        if functions > MAX_FUNCTIONS {
            return Err(EmitError::TooManyFunctions { program: name(), functions, limit: MAX_FUNCTIONS });
        }
    }
    Ok(deepest)
}

/// The most that calls below a function, itself included, take: along one chain of calls, but not both along the same.
#[derive(Clone, Copy)]
struct Below {
    frames: usize,
    bytes: u32,
}

/// The calls of a module.
struct Chains {
    /// By function.
    callees: Vec<Vec<usize>>,
    /// The frame sizes, rounded.
    frames: Vec<u32>,
    known: Vec<Option<Below>>,
}

impl Chains {
    /// `None` if functions call each other in a cycle; `active` is how many callers there are already.
    fn below(&mut self, index: usize, active: usize) -> Option<Below> {
        if self.known[index].is_some() {
            return self.known[index];
        }
        if active > self.callees.len() {
            return None; // More frames than functions.
        }
        let mut result = Below { frames: 0, bytes: 0 };
        for n in 0..self.callees[index].len() {
            let below = self.below(self.callees[index][n], active + 1)?;
            result.frames = result.frames.max(below.frames);
            result.bytes = result.bytes.max(below.bytes);
        }
        result.frames += 1;
        result.bytes += self.frames[index];
        self.known[index] = Some(result);
        self.known[index]
    }

    /// The chain from `index` on that takes most by that measure.
    fn names(&self, module: &Module, index: usize, measure: impl Fn(Below) -> usize) -> Vec<String> {
        let largest = |at: usize| {
            let callees = self.callees[at].iter().copied();
            callees.max_by_key(|callee| self.known[*callee].map_or(0, &measure))
        };
        let chain = std::iter::successors(Some(index), |at| largest(*at));
        chain.map(|at| module.functions[at].name.clone()).collect()
    }

    /// Which functions wait for one that makes a tail call.
    fn above(&self, tail_calls: &[bool]) -> Vec<bool> {
        let mut above = vec![false; tail_calls.len()];
        loop {
            let is_above =
                |at: usize| self.callees[at].iter().any(|callee| tail_calls[*callee] || above[*callee]);
            let next: Vec<bool> = (0..above.len()).map(is_above).collect();
            if next == above {
                return above;
            }
            above = next;
        }
    }

    /// Checks the frames above functions that make tail calls, below the last one of a chain.
    fn check_tail_calls(
        &self,
        module: &Module,
        (tail_calls, above): (&[bool], &[bool]),
        chain: &mut Vec<usize>,
    ) -> Result<(), EmitError> {
        let Some(last) = chain.last() else { return Ok(()) };
        for &callee in &self.callees[*last] {
            let bytes = chain.iter().map(|index| self.frames[*index]).sum();
            chain.push(callee);
            if tail_calls[callee] && bytes > MAX_ABOVE_TAIL_CALL {
                let chain = chain.iter().map(|at| module.functions[*at].name.clone()).collect();
                return Err(EmitError::ChainTooLarge { chain, bytes, limit: MAX_ABOVE_TAIL_CALL });
            }
            if above[callee] {
                self.check_tail_calls(module, (tail_calls, above), chain)?;
            }
            chain.pop();
        }
        Ok(())
    }

    /// How many functions are part of a program.
    fn reached(&self, program: usize) -> usize {
        let mut reached = vec![false; self.callees.len()];
        let mut work = vec![program];
        while let Some(index) = work.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                work.extend(&self.callees[index]);
            }
        }
        reached.iter().filter(|reached| **reached).count()
    }
}

fn makes_tail_call(function: &Function) -> bool {
    let mut insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.any(|inst| matches!(inst.op, Op::Helper { id: helper::TAIL_CALL, .. }))
        || function.given.as_ref().is_some_and(|given| given.calls_helper(helper::TAIL_CALL))
}

fn callees(function: &Function) -> Vec<usize> {
    let mut callees: Vec<usize> = function.callees().map(|callee| callee.0 as usize).collect();
    callees.sort_unstable();
    callees.dedup();
    callees
}
