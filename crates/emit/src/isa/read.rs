//! What a word does, from its codes.

use super::*;

const BINARY_OPS: [BinaryOp; 13] = {
    use BinaryOp::*;
    [Add, Sub, Mul, UDiv, UMod, SDiv, SMod, And, Or, Xor, Shl, LShr, AShr]
};

const COMPARE_OPS: [CompareOp; 11] = {
    use CompareOp::*;
    [Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, Test]
};

impl Word {
    /// `dst = source`, of either width and with any extension.
    pub fn is_mov(self) -> bool {
        matches!(self.class(), class::ALU | class::ALU64) && self.code & !(SOURCE_REGISTER | 7) == ALU_MOV
    }

    /// An atomic operation that gives a register what was in memory before.
    pub fn is_fetching(self) -> bool {
        self.class() == class::STX && self.code & 0xe0 == MODE_ATOMIC && self.imm & ATOMIC_FETCH != 0
    }

    /// One that writes only if what was there is what r0 holds, which becomes what was there (`BPF_CMPXCHG`).
    pub fn is_exchange(self) -> bool {
        self.is_fetching() && self.imm & 0xf0 == 0xf0
    }

    /// A load or store as C's, of no atomic operation.
    pub fn is_plain_access(self) -> bool {
        matches!(self.class(), class::LDX | class::ST | class::STX) && self.code & 0xe0 == MODE_MEM
    }

    /// The bytes that a load or store accesses.
    pub fn size(self) -> Size {
        let sizes = [Size::B1, Size::B2, Size::B4, Size::B8];
        sizes.into_iter().find(|size| size_bits(*size) == self.code & 0x18).unwrap_or(Size::B8)
    }

    /// A call of a helper, or of a function of the object or of the kernel.
    pub fn is_call(self) -> bool {
        self.code == class::JMP | JUMP_CALL
    }

    /// Changes the order of bytes.
    pub fn is_swap(self) -> bool {
        matches!(self.class(), class::ALU | class::ALU64) && self.code & 0xf0 == ALU_END
    }

    /// `dst = dst op …`, of either width.
    pub fn binary_op(self) -> Option<BinaryOp> {
        let ops = BINARY_OPS.into_iter();
        let is_op = |op: &BinaryOp| binary_bits(*op) == (self.code & 0xf0, self.off);
        ops.filter(|_| matches!(self.class(), class::ALU | class::ALU64)).find(is_op)
    }

    /// `if dst op … goto`, of either width.
    pub fn compare_op(self) -> Option<CompareOp> {
        let ops = COMPARE_OPS.into_iter();
        let is_op = |op: &CompareOp| compare_bits(*op) == self.code & 0xf0;
        ops.filter(|_| matches!(self.class(), class::JMP | class::JMP32)).find(is_op)
    }

    /// The second operand of what has two.
    pub fn source(self) -> Source {
        if self.code & SOURCE_REGISTER != 0 { Source::Register(self.src) } else { Source::Imm(self.imm) }
    }

    /// The same with a number as second operand.
    pub fn with_number(self, imm: i32) -> Word {
        Word { code: self.code & !SOURCE_REGISTER, src: 0, imm, ..self }
    }

    /// Reads the packet by way of a register that it does not name (`BPF_ABS`, `BPF_IND`).
    pub fn is_legacy(self) -> bool {
        self.class() == class::LD && matches!(self.code & 0xe0, 0x20 | 0x40)
    }

    pub fn class(self) -> u8 {
        self.code & 7
    }

    /// The first half of a two-slot instruction.
    pub fn is_wide(self) -> bool {
        self.code == class::LD | size_bits(Size::B8) | MODE_IMM
    }
}
