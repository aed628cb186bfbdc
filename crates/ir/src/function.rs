//! Functions: blocks of instructions over SSA values.
//!
//! All lists only grow while a function is built, so a builder can take a [`Checkpoint`] and go back to it.

use crate::{FunctionId, MapId};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident $letter:literal),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub u32);
        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl crate::graph::Node for $name {
            fn number(self) -> usize {
                self.index()
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    )*};
}

index!(
    /// An SSA value: a 64-bit word.
    Value "v",
    /// A basic block; block 0 is the entry.
    Block "b",
    /// A part of the function's stack frame: [`Function::slots`].
    Slot "s"
);

impl Value {
    /// What takes the place of a result that there is none of, by a fault of a builder: [`crate::verify`] refuses a function that uses it.
    pub const NONE: Value = Value(u32::MAX);
}

/// Where in the script something comes from; line 0 is "nowhere".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Loc {
    /// Index into [`crate::Module::sources`].
    pub source: u16,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// A C identifier, unique in the module.
    pub name: String,
    pub kind: FunctionKind,
    /// At most 5. A program has one: its context.
    pub params: Vec<Value>,
    pub blocks: Vec<BlockData>,
    /// How many values there are; their numbers are below this.
    pub value_count: u32,
    /// Sizes in bytes, multiples of 8.
    pub slots: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// An entry point in the ELF section of that name (`xdp`, `tc`, …), which tells libbpf the program type.
    Program { section: String },
    /// Called by programs; verified on its own when `global`. With `context`, the first parameter is the context of programs in that
    /// section, passed on by whoever calls; all others are numbers.
    Subprogram { global: bool, context: Option<String> },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockData {
    pub params: Vec<Value>,
    pub insts: Vec<Inst>,
    pub terminator: Option<(Terminator, Loc)>,
    /// Hardly ever reached (errors): placed after the other code.
    pub cold: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    pub op: Op,
    /// Present exactly if the operation has a result.
    pub result: Option<Value>,
    pub loc: Loc,
}

/// A second operand: a value, or what an eBPF immediate holds (32 bits, sign-extended).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    Value(Value),
    Imm(i32),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Const(i64),
    /// 64-bit arithmetic. Pointer arithmetic is `Add` with the pointer on the left.
    Binary(BinaryOp, Value, Operand),
    Unary(UnaryOp, Value),
    /// 1 if the condition holds, else 0.
    Compare(Condition),
    /// `*(base + disp)`, zero-extended, or sign-extended if `signed`. Native byte order.
    Load {
        size: Size,
        signed: bool,
        base: Value,
        disp: i16,
    },
    /// No result.
    Store {
        size: Size,
        base: Value,
        disp: i16,
        value: Operand,
    },
    /// `*(base + disp) op= value`, atomically; the result is the old value.
    Atomic {
        op: AtomicOp,
        size: Size,
        base: Value,
        disp: i16,
        value: Value,
    },
    /// The address of byte `offset` of a data section's bytes.
    DataAddress {
        map: MapId,
        offset: u32,
    },
    /// What helpers take as their map argument.
    MapReference(MapId),
    /// The address of a stack slot.
    SlotAddress(Slot),
    /// A call of the kernel helper with that number (`enum bpf_func_id`), at most 5 arguments.
    Helper {
        id: u32,
        args: Vec<Value>,
    },
    /// What helpers that call back take as their function: a subprogram of the module that is not global. What it is given,
    /// and what it may give, the helper says.
    FunctionReference(FunctionId),
    /// A call of another function of the module, at most 5 arguments.
    Call {
        function: FunctionId,
        args: Vec<Value>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Unsigned; x / 0 is 0 (Documentation/bpf/standardization/instruction-set.rst).
    UDiv,
    /// Unsigned; x % 0 is x.
    UMod,
    /// Signed, truncating; x / 0 is 0, MIN / -1 is MIN.
    SDiv,
    /// Signed, sign of the dividend; x % 0 is x, MIN % -1 is 0.
    SMod,
    And,
    Or,
    Xor,
    /// Shift counts are taken modulo 64.
    Shl,
    LShr,
    AShr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    /// Swaps the low 2, 4 or 8 bytes and clears the others.
    Swap16,
    Swap32,
    Swap64,
    SignExtend8,
    SignExtend16,
    SignExtend32,
    /// Clears the high 32 bits.
    ZeroExtend32,
    /// The same value, which the verifier no longer links to the one it was computed from (`BPF_ADD_CONST` in
    /// kernel/bpf/verifier.c): at a loop's head it takes linked and unlinked values for different states. Not folded.
    Unlink,
    /// The address of the byte of the module's [`crate::MapKind::Arena`] at the offset in the low 32 bits. Loads, stores
    /// and atomics through it, or through it plus a constant, never fault: outside the arena, loads give 0 and stores are
    /// lost. Not a number: compare and compute with offsets.
    Arena,
}

/// What [`Op::Atomic`] does with the word that is there and its operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicOp {
    Add,
    Or,
    And,
}

impl AtomicOp {
    pub fn apply(self, old: u64, value: u64) -> u64 {
        match self {
            AtomicOp::Add => old.wrapping_add(value),
            AtomicOp::Or => old | value,
            AtomicOp::And => old & value,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    B1 = 1,
    B2 = 2,
    B4 = 4,
    B8 = 8,
}

/// A comparison of 64-bit words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Condition {
    pub op: CompareOp,
    pub lhs: Value,
    pub rhs: Operand,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    Eq,
    Ne,
    ULt,
    ULe,
    UGt,
    UGe,
    SLt,
    SLe,
    SGt,
    SGe,
    /// `lhs & rhs` is not 0.
    Test,
}

/// A jump's target and the arguments for its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub block: Block,
    pub args: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    Jump(Target),
    Branch {
        condition: Condition,
        then: Target,
        otherwise: Target,
    },
    /// Goes on to `go`, or, once the kernel's own limit for loops is used up, to `stop`.
    MayGoto {
        go: Target,
        stop: Target,
    },
    Return(Operand),
}

/// A position to which [`Function::rollback`] returns.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    blocks: usize,
    values: u32,
    slots: usize,
}

impl Function {
    /// An empty function with `params` parameters and an empty entry block.
    pub fn new(name: impl Into<String>, kind: FunctionKind, params: u32) -> Self {
        Function {
            name: name.into(),
            kind,
            params: (0..params).map(Value).collect(),
            blocks: vec![BlockData::default()],
            value_count: params,
            slots: Vec::new(),
        }
    }

    /// The value that is the program's context, if the function has it.
    pub fn context(&self) -> Option<Value> {
        self.section().and_then(|_| self.params.first().copied())
    }

    /// The section of the programs whose context the function gets.
    pub fn section(&self) -> Option<&str> {
        match &self.kind {
            FunctionKind::Program { section } => Some(section),
            FunctionKind::Subprogram { context, .. } => context.as_deref(),
        }
    }

    /// The functions that this one mentions, each as often as it does.
    pub fn callees(&self) -> impl Iterator<Item = FunctionId> {
        let insts = self.blocks.iter().flat_map(|block| &block.insts);
        insts.filter_map(|inst| match inst.op {
            Op::Call { function, .. } | Op::FunctionReference(function) => Some(function),
            _ => None,
        })
    }

    pub fn new_value(&mut self) -> Value {
        self.value_count += 1;
        Value(self.value_count - 1)
    }

    pub fn new_block(&mut self) -> Block {
        self.blocks.push(BlockData::default());
        Block(self.blocks.len() as u32 - 1)
    }

    pub fn add_param(&mut self, block: Block) -> Value {
        let value = self.new_value();
        self.block_mut(block).params.push(value);
        value
    }

    /// Reserves `bytes` (rounded up to a multiple of 8) of stack.
    pub fn new_slot(&mut self, bytes: u32) -> Slot {
        self.slots.push(bytes.next_multiple_of(8));
        Slot(self.slots.len() as u32 - 1)
    }

    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.index()]
    }

    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.index()]
    }

    /// Appends an operation; gives its result, if it has one.
    pub fn push(&mut self, block: Block, op: Op, loc: Loc) -> Option<Value> {
        let result = op.has_result().then(|| self.new_value());
        self.block_mut(block).insts.push(Inst { op, result, loc });
        result
    }

    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { blocks: self.blocks.len(), values: self.value_count, slots: self.slots.len() }
    }

    /// Forgets all blocks, values and slots made since. Blocks that are older must not have been changed since.
    pub fn rollback(&mut self, to: &Checkpoint) {
        self.blocks.truncate(to.blocks);
        self.value_count = to.values;
        self.slots.truncate(to.slots);
    }
}

impl Op {
    pub fn has_result(&self) -> bool {
        !matches!(self, Op::Store { .. })
    }

    /// Can be removed when its result is not used, and moved to where its operands are available. Loads are not pure:
    /// they depend on memory (but an unused load can be removed).
    pub fn is_pure(&self) -> bool {
        !matches!(
            self,
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Helper { .. } | Op::Call { .. }
        )
    }

    /// Whether it does something besides giving a result.
    pub fn has_effect(&self) -> bool {
        !self.is_pure() && !matches!(self, Op::Load { .. })
    }

    /// Calls `visit` with each value operand.
    pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        match self {
            Op::Const(_)
            | Op::DataAddress { .. }
            | Op::MapReference(_)
            | Op::SlotAddress(_)
            | Op::FunctionReference(_) => {}
            Op::Binary(_, lhs, rhs) => {
                visit(*lhs);
                rhs.value().map(visit);
            }
            Op::Unary(_, value) => visit(*value),
            Op::Compare(condition) => condition.for_each_value(visit),
            Op::Load { base, .. } => visit(*base),
            Op::Store { base, value, .. } => {
                visit(*base);
                value.value().map(visit);
            }
            Op::Atomic { base, value, .. } => {
                visit(*base);
                visit(*value);
            }
            Op::Helper { args, .. } | Op::Call { args, .. } => args.iter().copied().for_each(visit),
        }
    }

    /// Replaces each value operand.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        match self {
            Op::Const(_)
            | Op::DataAddress { .. }
            | Op::MapReference(_)
            | Op::SlotAddress(_)
            | Op::FunctionReference(_) => {}
            Op::Binary(_, lhs, rhs) => {
                *lhs = map(*lhs);
                rhs.map_value(map);
            }
            Op::Unary(_, value) => *value = map(*value),
            Op::Compare(condition) => condition.map_values(map),
            Op::Load { base, .. } => *base = map(*base),
            Op::Store { base, value, .. } => {
                *base = map(*base);
                value.map_value(map);
            }
            Op::Atomic { base, value, .. } => {
                *base = map(*base);
                *value = map(*value);
            }
            Op::Helper { args, .. } | Op::Call { args, .. } => {
                args.iter_mut().for_each(|arg| *arg = map(*arg))
            }
        }
    }
}

impl Operand {
    pub fn value(self) -> Option<Value> {
        match self {
            Operand::Value(value) => Some(value),
            Operand::Imm(_) => None,
        }
    }

    fn map_value(&mut self, map: impl FnOnce(Value) -> Value) {
        if let Operand::Value(value) = self {
            *value = map(*value);
        }
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Operand::Value(value)
    }
}

impl From<i32> for Operand {
    fn from(imm: i32) -> Self {
        Operand::Imm(imm)
    }
}

impl Condition {
    pub fn new(op: CompareOp, lhs: Value, rhs: impl Into<Operand>) -> Self {
        Condition { op, lhs, rhs: rhs.into() }
    }

    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        self.lhs = map(self.lhs);
        self.rhs.map_value(map);
    }

    /// Calls `visit` with each value operand.
    pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        visit(self.lhs);
        self.rhs.value().map(visit);
    }
}

impl CompareOp {
    /// The operation that holds exactly when this one does not; `Test` has none.
    pub fn negated(self) -> Option<CompareOp> {
        use CompareOp::*;
        Some(match self {
            Eq => Ne,
            Ne => Eq,
            ULt => UGe,
            ULe => UGt,
            UGt => ULe,
            UGe => ULt,
            SLt => SGe,
            SLe => SGt,
            SGt => SLe,
            SGe => SLt,
            Test => return None,
        })
    }
}

impl CompareOp {
    /// The operation that holds with the operands exchanged.
    pub fn swapped(self) -> CompareOp {
        use CompareOp::*;
        match self {
            Eq | Ne | Test => self,
            ULt => UGt,
            ULe => UGe,
            UGt => ULt,
            UGe => ULe,
            SLt => SGt,
            SLe => SGe,
            SGt => SLt,
            SGe => SLe,
        }
    }
}

impl Target {
    pub fn new(block: Block, args: Vec<Value>) -> Self {
        Target { block, args }
    }
}

impl Terminator {
    pub fn targets(&self) -> Vec<&Target> {
        match self {
            Terminator::Jump(target) => vec![target],
            Terminator::Branch { then, otherwise, .. } => vec![then, otherwise],
            Terminator::MayGoto { go, stop } => vec![go, stop],
            Terminator::Return(_) => vec![],
        }
    }

    pub fn targets_mut(&mut self) -> Vec<&mut Target> {
        match self {
            Terminator::Jump(target) => vec![target],
            Terminator::Branch { then, otherwise, .. } => vec![then, otherwise],
            Terminator::MayGoto { go, stop } => vec![go, stop],
            Terminator::Return(_) => vec![],
        }
    }

    /// The target at `index` of [`Terminator::targets`].
    pub fn target(&self, index: usize) -> Option<&Target> {
        match (self, index) {
            (Terminator::Jump(target), 0) => Some(target),
            (Terminator::Branch { then, .. }, 0) => Some(then),
            (Terminator::Branch { otherwise, .. }, 1) => Some(otherwise),
            (Terminator::MayGoto { go, .. }, 0) => Some(go),
            (Terminator::MayGoto { stop, .. }, 1) => Some(stop),
            _ => None,
        }
    }

    /// Calls `visit` with each of [`Terminator::targets`].
    pub fn for_each_target<'a>(&'a self, visit: impl FnMut(&'a Target)) {
        (0..2).map_while(|index| self.target(index)).for_each(visit);
    }

    /// Calls `visit` with each of [`Terminator::targets_mut`].
    pub fn for_each_target_mut(&mut self, mut visit: impl FnMut(&mut Target)) {
        match self {
            Terminator::Jump(target) => visit(target),
            Terminator::Branch { then: first, otherwise: second, .. }
            | Terminator::MayGoto { go: first, stop: second } => {
                visit(first);
                visit(second);
            }
            Terminator::Return(_) => {}
        }
    }

    /// Calls `visit` with each value the terminator uses, arguments of targets included.
    pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        match self {
            Terminator::Branch { condition, .. } => condition.for_each_value(&mut visit),
            Terminator::Return(Operand::Value(value)) => visit(*value),
            Terminator::Return(Operand::Imm(_)) | Terminator::Jump(_) | Terminator::MayGoto { .. } => {}
        }
        self.for_each_target(|target| target.args.iter().copied().for_each(&mut visit));
    }

    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        match self {
            Terminator::Branch { condition, .. } => condition.map_values(&mut map),
            Terminator::Return(operand) => operand.map_value(&mut map),
            Terminator::Jump(_) | Terminator::MayGoto { .. } => {}
        }
        self.for_each_target_mut(|target| target.args.iter_mut().for_each(|arg| *arg = map(*arg)));
    }
}
