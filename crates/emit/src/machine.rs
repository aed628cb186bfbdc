//! Functions as machine operations over virtual registers: what [`crate::select`] makes, [`crate::allocate`] gives
//! registers and [`crate::assemble`] turns into words.
//!
//! A block's number is its place in the final order. Critical edges are split, so that a block with several
//! successors passes no arguments and the allocator can put moves on any edge.

use moonhook_ir::{AtomicOp, BinaryOp, CompareOp, FieldFact, FunctionId, KernelField, Loc, MapId, Size};
use regalloc2::{Block, Inst, InstRange, Operand, PReg, PRegSet, RegClass, VReg};

/// A register for the allocator.
pub fn physical(number: usize) -> PReg {
    PReg::new(number, RegClass::Int)
}

/// r0 to r5, which a call overwrites; r0 has its result.
pub const CALL_CLOBBERED: usize = 6;

/// A second operand: the next register operand, or an immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rhs {
    Register,
    Imm(i32),
}

/// Where memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// Relative to the next register operand.
    Register(i16),
    /// Relative to the frame pointer.
    Frame(i16),
}

/// A conversion from one register to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// The same value.
    Copy,
    SignExtend(i16),
    ZeroExtend32,
    /// From an offset in the arena to its address.
    Arena,
}

/// A change of a register in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    Binary(BinaryOp, Rhs),
    /// `and` on the low half, clearing the high one.
    And32(i32),
    Negate,
    ByteSwap(i32),
}

/// Machine operations. The comment gives the register operands in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// defs: the function's parameters, in r1 and up.
    Params,
    /// def.
    Imm(i64),
    /// def. An address in a data section.
    Data { map: MapId, offset: u32 },
    /// def. What helpers take as a map.
    Map(MapId),
    /// def. A function of the module, for helpers that call it.
    Function(FunctionId),
    /// def. The frame pointer plus so many bytes.
    FrameAddress(i32),
    /// use, def (the same register), use if the operation has a register on the right.
    InPlace(InPlace),
    /// def, use.
    Convert(Conversion),
    /// def, use, use if a register is on the right: 1 if the comparison holds, else 0; or `opposite`.
    Set { op: CompareOp, rhs: Rhs, opposite: bool },
    /// def, use of the base.
    Load { size: Size, signed: bool, base: Base },
    /// def, use of the base.
    KernelField(&'static KernelField),
    /// def.
    FieldFact(&'static KernelField, FieldFact),
    /// use of the base, use of the value.
    Store { size: Size, base: Base, value: Rhs },
    /// use of the base, use of the addend, def (the same register as the addend) if `fetch`.
    Atomic { op: AtomicOp, size: Size, base: Base, fetch: bool },
    /// def in r0, uses in r1 and up.
    Helper(i32),
    /// def in r0, uses in r1 and up.
    Call(FunctionId),
    /// def, uses in registers or on the stack. Leaves all other registers as they are ([`crate::caller_saves`]).
    RareCall(FunctionId),
    /// No operands: arguments are the block's.
    Jump,
    /// use, use if a register is on the right; to the first successor if the comparison holds, else to the second.
    Branch(CompareOp, Rhs),
    /// To the first successor, or to the second when the kernel's limit is used up.
    MayGoto,
    /// use in r0.
    Return,
}

#[derive(Clone, Copy, Debug)]
pub struct MachineInst {
    pub op: Machine,
    pub loc: Loc,
    /// The end of this one's operands; they begin where the previous one's end.
    operands_end: u32,
}

#[derive(Clone, Debug, Default)]
pub struct MachineBlock {
    /// The instructions' numbers.
    pub first: u32,
    pub end: u32,
    pub params: Vec<VReg>,
    pub successors: Vec<Block>,
    pub predecessors: Vec<Block>,
    /// What the jump at the end passes to the only successor.
    pub args: Vec<VReg>,
}

#[derive(Clone, Debug, Default)]
pub struct MachineFunction {
    pub insts: Vec<MachineInst>,
    pub blocks: Vec<MachineBlock>,
    pub vreg_count: usize,
    operands: Vec<Operand>,
}

impl MachineFunction {
    /// An empty function whose first `vreg_count` virtual registers are the values of the IR.
    pub fn new(vreg_count: usize) -> Self {
        MachineFunction { vreg_count, ..Default::default() }
    }

    pub fn push(&mut self, op: Machine, operands: &[Operand], loc: Loc) {
        self.operands.extend_from_slice(operands);
        self.insts.push(MachineInst { op, loc, operands_end: self.operands.len() as u32 });
    }

    pub fn new_vreg(&mut self) -> VReg {
        self.vreg_count += 1;
        VReg::new(self.vreg_count - 1, RegClass::Int)
    }
}

impl regalloc2::Function for MachineFunction {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        let block = &self.blocks[block.index()];
        InstRange::new(Inst::new(block.first as usize), Inst::new(block.end as usize))
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].successors
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].predecessors
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.blocks[block.index()].params
    }

    fn is_ret(&self, inst: Inst) -> bool {
        self.insts[inst.index()].op == Machine::Return
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.insts[inst.index()].op, Machine::Jump | Machine::Branch(..) | Machine::MayGoto)
    }

    fn branch_blockparams(&self, block: Block, _: Inst, _: usize) -> &[VReg] {
        &self.blocks[block.index()].args
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        let index = inst.index();
        let first = if index == 0 { 0 } else { self.insts[index - 1].operands_end as usize };
        &self.operands[first..self.insts[index].operands_end as usize]
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        match self.insts[inst.index()].op {
            // r0 is the result.
            Machine::Helper(_) | Machine::Call(_) => (1..CALL_CLOBBERED).map(physical).collect(),
            _ => PRegSet::empty(),
        }
    }

    fn num_vregs(&self) -> usize {
        self.vreg_count
    }

    fn spillslot_size(&self, _: RegClass) -> usize {
        1
    }
}
