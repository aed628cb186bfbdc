//! A program's memory in the arena: each CPU has a part of its own, at some hooks one for each level of interruption.

use super::General;
use super::parts::Parts;
use super::random;
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::helper;
use moonhook_ir::{BinaryOp, CompareOp, Op, Value};
use moonhook_runtime::layout::*;
use moonhook_specialise::nesting::{self, Level};
use moonhook_specialise::{exported, of_program};

/// Where memory is: all programs have the image, and what follows it is parts of the same size, for each CPU one of each program.
#[derive(Clone, Copy)]
pub struct Memory {
    pub image_end: i64,
    pub stride: i64,
}

/// Bytes of each CPU's state (notes of reads and scratch memory of routines included), frames and stack.
const STATE: i64 = L_NOTES + NOTES_SIZE + SCRATCH_SIZE;
const FRAMES: i64 = 512 << 10;
const STACK: i64 = 512 << 10;
const FRAMES_START: i64 = STATE + PATTERNS_SIZE;
const STACK_START: i64 = FRAMES_START + FRAMES;
pub const PAGE: i64 = 4096;
/// All of it, but for what packets have for their values.
pub const NEEDED: i64 = STATE + PATTERNS_SIZE + FRAMES + STACK;

/// The memory of the packet that is there.
pub struct Reached {
    pub state: Value,
    /// Where the state is in the arena.
    pub address: Value,
    /// What was taken at hooks whose programs can be interrupted.
    pub level: Option<Level>,
}

impl General<'_> {
    /// Where the memory of the program is whose code is being made.
    pub fn memories(&self) -> nesting::Parts {
        exported::memory(self.functions.snapshot, self.options, self.program)
    }

    /// The function that takes a level for the program, and the program's number.
    pub fn take_level(&mut self) -> Option<(ir::FunctionId, usize)> {
        let (hook, program) = (self.hook(), self.program);
        if hook.levels(self.options.clones) == 1 {
            return None;
        }
        let section = self.taken();
        let id = self.reserve();
        self.place(id, nesting::take(&of_program("take_level", program), hook, program, section));
        Some((id, program))
    }

    /// The section that says which levels are taken, and for how many CPUs.
    fn taken(&mut self) -> (ir::MapId, u32) {
        let cpus = self.options.cpus;
        let known = self.module.maps.iter().position(|map| map.name == ir::maps::TAKEN);
        let index = known.unwrap_or_else(|| {
            let kind = nesting::taken(self.programs(), cpus);
            self.module.maps.push(ir::Map { name: ir::maps::TAKEN.into(), kind });
            self.module.maps.len() - 1
        });
        (ir::MapId(index as u32), cpus)
    }

    /// Finds the memory, or ends the program.
    pub fn reach_memory(
        &mut self,
        code: &mut Builder,
        statics: &[(i64, u64)],
        memory: Memory,
        parts: &Parts,
    ) -> Reached {
        let processor = code.emit(Op::Helper { id: helper::GET_SMP_PROCESSOR_ID, args: vec![] });
        let level = self.take_memory(code, processor, parts);
        let memories = self.memories();
        let each = code.number(memory.stride * i64::from(memories.all));
        let part = code.binary(BinaryOp::Mul, processor, each);
        let mut address = code.add(part, memory.image_end + memory.stride * i64::from(memories.first));
        if let Some(level) = level {
            let stride = code.number(memory.stride);
            let offset = code.binary(BinaryOp::Mul, level.number, stride);
            address = code.binary(BinaryOp::Add, address, offset);
        }
        let state = code.arena(address);
        self.prepare(code, state, address, statics, memory);
        if let Some(level) = level {
            code.store(state, L_LEVEL, level.number);
        }
        Reached { state, address, level }
    }

    /// Takes a level, if the program needs one. Ends the program on a CPU beyond those that it has memory for, and where all of it is taken.
    fn take_memory(&mut self, code: &mut Builder, processor: Value, parts: &Parts) -> Option<Level> {
        let (beyond, _) = code.cold_block(0);
        let cpus = code.number(self.options.cpus.into());
        code.leave_if(CompareOp::UGe, processor, cpus, beyond, &[]);
        let level = parts.take_level.map(|(take, program)| {
            let section = self.taken();
            let level = nesting::take_here(code, take, processor, program, section);
            let levels = code.number(self.hook().levels(self.options.clones).into());
            code.leave_if(CompareOp::UGe, level.number, levels, beyond, &[]);
            level
        });
        let start = std::mem::replace(&mut code.block, beyond);
        if let Some(no_memory) = parts.no_memory {
            let context = code.param(0);
            code.call(no_memory, &[context, processor]);
        }
        let shift = if self.functions.snapshot.library.is_some() { 0 } else { self.hook().answer_shift() };
        let answer = code.number(self.on_error() << shift);
        code.ret(answer);
        code.block = start;
        level
    }

    /// Fills in the parts of the state that never change, on the CPU's first packet.
    fn prepare(
        &mut self,
        code: &mut Builder,
        state: Value,
        address: Value,
        statics: &[(i64, u64)],
        memory: Memory,
    ) {
        let (first, _) = code.cold_block(0);
        let (ready, _) = code.new_block(0);
        let known = code.load(state, L_SELF);
        code.branch(CompareOp::Eq, known, 0, (first, &[]), (ready, &[]));
        code.block = first;
        code.store(state, L_SELF, address);
        let relative = [
            (L_SCRATCH, STATE - SCRATCH_SIZE),
            (L_PATTERNS, STATE),
            (L_FRAMES, FRAMES_START),
            (L_FRAMES_END, FRAMES_START + FRAMES / FRAME_SIZE * FRAME_SIZE),
            (L_STACK, STACK_START),
            (L_STACK_END, STACK_START + STACK - PAGE),
            (L_HEAP_START, STACK_START + STACK),
            (L_HEAP_END, memory.stride),
            (L_MEMORY_END, memory.stride),
        ];
        for (field, offset) in relative {
            let place = code.add(address, offset);
            code.store(state, field, place);
        }
        code.store_constant(state, L_IMAGE_END, memory.image_end);
        for (field, word) in statics {
            code.store_constant(state, *field, *word as i64);
        }
        random::prepare(code, state, self.options.seed);
        code.jump(ready, &[]);
        code.block = ready;
    }
}
