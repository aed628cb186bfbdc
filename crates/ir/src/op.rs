//! Operations: what instructions do, with which operands.

use crate::kernel_field::FieldFact;
use crate::{FunctionId, KernelField, MapId, Slot, Value};

/// A second operand: a value, or what an eBPF immediate holds (32 bits, sign-extended).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    Value(Value),
    Imm(i32),
}

#[derive(Clone, Debug, PartialEq, Hash)]
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
    /// A field of the kernel's structure whose address `base` is, zero-extended.
    KernelField {
        base: Value,
        field: &'static KernelField,
    },
    /// A number about a field of the kernel's structures, which is known when the program is loaded.
    FieldFact {
        field: &'static KernelField,
        fact: FieldFact,
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

impl Op {
    pub fn has_result(&self) -> bool {
        !matches!(self, Op::Store { .. })
    }

    /// Can be removed when its result is not used, and moved to where its operands are available. Loads are not pure:
    /// they depend on memory (but an unused load can be removed).
    pub fn is_pure(&self) -> bool {
        !matches!(
            self,
            Op::Load { .. }
                | Op::KernelField { .. }
                | Op::Store { .. }
                | Op::Atomic { .. }
                | Op::Helper { .. }
                | Op::Call { .. }
        )
    }

    /// Whether it does something besides giving a result.
    pub fn has_effect(&self) -> bool {
        !self.is_pure() && !matches!(self, Op::Load { .. } | Op::KernelField { .. })
    }

    /// Calls `visit` with each value operand.
    pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        match self {
            Op::Const(_)
            | Op::DataAddress { .. }
            | Op::MapReference(_)
            | Op::FieldFact { .. }
            | Op::SlotAddress(_)
            | Op::FunctionReference(_) => {}
            Op::Binary(_, lhs, rhs) => {
                visit(*lhs);
                rhs.value().map(visit);
            }
            Op::Unary(_, value) => visit(*value),
            Op::Compare(condition) => condition.for_each_value(visit),
            Op::Load { base, .. } | Op::KernelField { base, .. } => visit(*base),
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
            | Op::FieldFact { .. }
            | Op::SlotAddress(_)
            | Op::FunctionReference(_) => {}
            Op::Binary(_, lhs, rhs) => {
                *lhs = map(*lhs);
                rhs.map_value(map);
            }
            Op::Unary(_, value) => *value = map(*value),
            Op::Compare(condition) => condition.map_values(map),
            Op::Load { base, .. } | Op::KernelField { base, .. } => *base = map(*base),
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

    /// Replaces the value, if it is one.
    pub(crate) fn map_value(&mut self, map: impl FnOnce(Value) -> Value) {
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

    /// Replaces each value operand.
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
