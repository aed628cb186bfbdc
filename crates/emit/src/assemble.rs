//! Machine operations with their registers become words; jumps between blocks are left to [`crate::jumps`].

use crate::caller_saves::CallerSaves;
use crate::frame::SlotOffsets;
use crate::isa::{self, Source, Word};
use crate::machine::{Base, CALL_CLOBBERED, Conversion, InPlace, Machine, MachineFunction, Rhs};
use moonhook_ir::{CompareOp, FieldFact, FunctionId, KernelField, Loc, MapId, Size, helper};
use regalloc2::{Allocation, AllocationKind, Block, Edit, Inst, InstOrEdit, Output};

/// What a word's immediate or offset becomes when the object is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reference {
    /// The address of a data section's bytes; the offset is in the immediate.
    Data(MapId),
    Map(MapId),
    /// A function that is called here.
    Function(FunctionId),
    /// A function of the kernel that is called here by its name ([`helper::kernel_function`]).
    Kernel(u32),
    /// A field of a structure of the kernel, whose offset the loader finds.
    Field(&'static KernelField, FieldFact),
    /// A function that a helper is to call; the offset in its section is in the immediate.
    Callback(FunctionId),
}

/// One 8-byte slot of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeWord {
    pub word: Word,
    pub loc: Loc,
    pub reference: Option<Reference>,
}

/// How a block ends; targets are numbers of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Jump(usize),
    Branch { op: CompareOp, lhs: u8, rhs: Source, then: usize, otherwise: usize },
    MayGoto { go: usize, stop: usize },
    Return,
}

/// A block's words without the jumps at its end.
#[derive(Clone, Debug)]
pub struct CodeBlock {
    pub words: Vec<CodeWord>,
    pub end: End,
    pub loc: Loc,
}

/// Turns every block of `function` into words, with the moves that the allocator inserted.
pub fn assemble(
    function: &MachineFunction,
    allocated: &Output,
    saves: &CallerSaves,
    slots: &SlotOffsets,
) -> Vec<CodeBlock> {
    let spills = allocated.num_spillslots;
    let (words, moves, loc) = (Vec::new(), Vec::new(), Loc::default());
    let mut assembler = Assembler { slots, saves, spills, words, moves, loc };
    let mut blocks = Vec::with_capacity(function.blocks.len());
    for (index, block) in function.blocks.iter().enumerate() {
        let mut end = End::Return;
        assembler.loc = function.insts[block.first as usize].loc;
        for item in allocated.block_insts_and_edits(function, Block::new(index)) {
            match item {
                InstOrEdit::Edit(Edit::Move { from, to }) => assembler.move_value(*from, *to),
                InstOrEdit::Inst(inst) => {
                    assembler.finish_moves();
                    let at = &function.insts[inst.index()];
                    assembler.loc = at.loc;
                    let operands = Operands(allocated.inst_allocs(inst));
                    match assembler.end(at.op, &operands, &block.successors) {
                        Some(found) => end = found,
                        None => match at.op {
                            Machine::RareCall(function) => assembler.rare_call(function, &operands, inst),
                            op => assembler.inst(op, &operands),
                        },
                    }
                }
            }
        }
        blocks.push(CodeBlock { words: std::mem::take(&mut assembler.words), end, loc: assembler.loc });
    }
    blocks
}

struct Assembler<'a> {
    slots: &'a SlotOffsets,
    saves: &'a CallerSaves,
    /// Words of the stack that the allocator uses; those of the caller saves follow.
    spills: usize,
    words: Vec<CodeWord>,
    /// Moves since the last operation.
    moves: Vec<Word>,
    loc: Loc,
}

/// The registers of an operation's operands.
struct Operands<'a>(&'a [Allocation]);

impl Operands<'_> {
    /// Every operand is constrained to a register, so that the default never occurs.
    fn register(&self, index: usize) -> u8 {
        self.0.get(index).and_then(|a| a.as_reg()).map_or(0, |register| register.hw_enc() as u8)
    }

    fn source(&self, rhs: Rhs, index: usize) -> Source {
        match rhs {
            Rhs::Register => Source::Register(self.register(index)),
            Rhs::Imm(imm) => Source::Imm(imm),
        }
    }

    /// The base of a memory access whose base operand has that index, and the index of the operand that follows.
    fn base(&self, base: Base, index: usize) -> (u8, i16, usize) {
        match base {
            Base::Register(disp) => (self.register(index), disp, index + 1),
            Base::Frame(disp) => (isa::FRAME, disp, index),
        }
    }
}

impl Assembler<'_> {
    fn push(&mut self, word: Word) {
        self.words.push(CodeWord { word, loc: self.loc, reference: None });
    }

    fn push_wide(&mut self, dst: u8, value: i64, reference: Option<Reference>) {
        let [low, high] = isa::load_imm64(dst, value);
        self.words.push(CodeWord { word: low, loc: self.loc, reference });
        self.push(high);
    }

    /// Spilled registers are written and read as whole words, which keeps what the verifier knows about them.
    fn move_value(&mut self, from: Allocation, to: Allocation) {
        use Size::B8;
        if from == to {
            return;
        }
        let register = |a: Allocation| a.as_reg().map_or(0, |r| r.hw_enc() as u8);
        let spill = |a: Allocation| a.as_stack().map_or(0, |slot| self.slots.spill(slot.index()));
        let word = match (from.kind(), to.kind()) {
            (AllocationKind::Stack, _) => isa::load(B8, false, register(to), isa::FRAME, spill(from)),
            (_, AllocationKind::Stack) => {
                isa::store(B8, isa::FRAME, spill(to), Source::Register(register(from)))
            }
            _ => isa::mov(register(to), Source::Register(register(from))),
        };
        self.moves.push(word);
    }

    /// Adds the moves between two operations, except those to registers that a later one of them overwrites: where a
    /// value moves at the end of a block, the allocator may first fetch what is no longer needed.
    fn finish_moves(&mut self) {
        let mut overwritten = 0u16;
        let mut kept = Vec::with_capacity(self.moves.len());
        for word in self.moves.drain(..).rev() {
            let is_store = word.class() == isa::class::STX;
            if !is_store && overwritten & 1 << word.dst != 0 {
                continue;
            }
            if !is_store {
                overwritten |= 1 << word.dst;
            }
            overwritten &= !(1 << word.src);
            kept.push(word);
        }
        for word in kept.into_iter().rev() {
            self.push(word);
        }
    }

    fn end(&self, op: Machine, operands: &Operands, successors: &[Block]) -> Option<End> {
        let to = |n: usize| successors[n].index();
        Some(match op {
            Machine::Jump => End::Jump(to(0)),
            Machine::Branch(op, rhs) => End::Branch {
                op,
                lhs: operands.register(0),
                rhs: operands.source(rhs, 1),
                then: to(0),
                otherwise: to(1),
            },
            Machine::MayGoto => End::MayGoto { go: to(0), stop: to(1) },
            Machine::Return => End::Return,
            _ => return None,
        })
    }

    fn inst(&mut self, op: Machine, operands: &Operands) {
        let dst = operands.register(0);
        match op {
            Machine::Imm(value) => match i32::try_from(value) {
                Ok(imm) => self.push(isa::mov(dst, Source::Imm(imm))),
                Err(_) => self.push_wide(dst, value, None),
            },
            Machine::Data { map, offset } => {
                self.push_wide(dst, i64::from(offset), Some(Reference::Data(map)))
            }
            Machine::Map(map) => self.push_wide(dst, 0, Some(Reference::Map(map))),
            Machine::Function(function) => self.push_wide(dst, 0, Some(Reference::Callback(function))),
            Machine::FrameAddress(offset) => {
                self.push(isa::mov(dst, Source::Register(isa::FRAME)));
                self.push(isa::binary(moonhook_ir::BinaryOp::Add, dst, Source::Imm(offset)));
            }
            Machine::InPlace(op) => self.in_place(op, operands),
            Machine::Convert(conversion) => {
                let src = operands.register(1);
                self.push(match conversion {
                    Conversion::Copy => isa::mov(dst, Source::Register(src)),
                    Conversion::ZeroExtend32 => isa::mov32(dst, src),
                    Conversion::Arena => isa::arena_address(dst, src),
                    Conversion::SignExtend(bits) => isa::mov_sign_extended(dst, src, bits),
                });
            }
            Machine::Set { op, rhs, opposite } => {
                self.push(isa::mov(dst, Source::Imm((!opposite).into())));
                self.push(isa::jump_if(op, operands.register(1), operands.source(rhs, 2), 1));
                self.push(isa::mov(dst, Source::Imm(opposite.into())));
            }
            Machine::Load { .. } | Machine::Store { .. } | Machine::Atomic { .. } => {
                self.memory(op, operands)
            }
            Machine::KernelField(field) => {
                self.of_field(
                    isa::load(field.size(), false, dst, operands.register(1), 0),
                    field,
                    FieldFact::Offset,
                );
            }
            Machine::FieldFact(field, fact) => {
                self.of_field(isa::mov(dst, Source::Imm(field.fact_in_object(fact))), field, fact);
            }
            Machine::Helper(id) => match helper::kernel_function(id as u32) {
                Some(function) => self.call_by_name(Reference::Kernel(function.id)),
                None => self.push(isa::call_helper(id)),
            },
            Machine::Call(function) => self.call_by_name(Reference::Function(function)),
            Machine::RareCall(_) => {} // Has places that are no registers: see `assemble`.
            Machine::Params | Machine::Jump | Machine::Branch(..) | Machine::MayGoto | Machine::Return => {}
        }
    }

    /// An instruction whose offset or constant is a fact about the field.
    fn of_field(&mut self, word: isa::Word, field: &'static KernelField, fact: FieldFact) {
        self.words.push(CodeWord { word, loc: self.loc, reference: Some(Reference::Field(field, fact)) });
    }

    fn call_by_name(&mut self, callee: Reference) {
        self.words.push(CodeWord { word: isa::call_function(), loc: self.loc, reference: Some(callee) });
    }

    /// A call that keeps the registers that are needed behind it. The arguments go by way of the stack, where no order of moves
    /// can be wrong.
    fn rare_call(&mut self, function: FunctionId, operands: &Operands, inst: Inst) {
        let &[result, ref args @ ..] = operands.0 else { return };
        let register = |a: Allocation| a.as_reg().map(|r| r.hw_enc() as u8);
        let is_overwritten = |register: &u8| usize::from(*register) < CALL_CLOBBERED;
        let kept: Vec<u8> = self.saves.live(inst).collect();
        let mut stored = kept.clone();
        stored.extend(args.iter().copied().filter_map(register).filter(is_overwritten));
        stored.sort_unstable();
        stored.dedup();
        for register in stored {
            let slot = self.kept_slot(register);
            self.push(isa::store(Size::B8, isa::FRAME, slot, Source::Register(register)));
        }
        for (place, arg) in (1..).zip(args) {
            let spilled = arg.as_stack().map(|slot| self.slots.spill(slot.index()));
            let word = match (register(*arg), spilled) {
                (Some(source), _) if is_overwritten(&source) => {
                    isa::load(Size::B8, false, place, isa::FRAME, self.kept_slot(source))
                }
                (Some(source), _) => isa::mov(place, Source::Register(source)),
                (None, slot) => isa::load(Size::B8, false, place, isa::FRAME, slot.unwrap_or_default()),
            };
            self.push(word);
        }
        self.call_by_name(Reference::Function(function));
        if let Some(result) = register(result).filter(|result| *result != 0) {
            self.push(isa::mov(result, Source::Register(0)));
        }
        for register in kept {
            self.push(isa::load(Size::B8, false, register, isa::FRAME, self.kept_slot(register)));
        }
    }

    /// Where a register is kept over a call, relative to the frame pointer.
    fn kept_slot(&self, register: u8) -> i16 {
        self.slots.spill(self.spills + self.saves.word(register))
    }

    fn in_place(&mut self, op: InPlace, operands: &Operands) {
        let dst = operands.register(1);
        self.push(match op {
            InPlace::Binary(op, rhs) => isa::binary(op, dst, operands.source(rhs, 2)),
            InPlace::And32(imm) => isa::and32(dst, imm),
            InPlace::Negate => isa::negate(dst),
            InPlace::ByteSwap(bits) => isa::byte_swap(dst, bits),
        });
    }

    fn memory(&mut self, op: Machine, operands: &Operands) {
        match op {
            Machine::Load { size, signed, base } => {
                let (base, disp, _) = operands.base(base, 1);
                self.push(isa::load(size, signed, operands.register(0), base, disp));
            }
            Machine::Store { size, base, value } => {
                let (base, disp, next) = operands.base(base, 0);
                self.push(isa::store(size, base, disp, operands.source(value, next)));
            }
            Machine::Atomic { op, size, base, fetch } => {
                let (base, disp, next) = operands.base(base, 0);
                self.push(isa::atomic((op, size), base, disp, operands.register(next), fetch));
            }
            _ => {}
        }
    }
}
