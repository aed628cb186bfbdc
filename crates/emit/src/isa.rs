//! eBPF instructions as 8-byte words: RFC 9669 with the `may_goto` of Linux (include/uapi/linux/bpf.h).
//!
//! Knows encodings only; what to encode is decided by [`crate::select`] and [`crate::assemble`].

use moonhook_ir::{BinaryOp, CompareOp, Size};

/// Instruction classes: the low 3 bits of the opcode.
pub mod class {
    pub const LD: u8 = 0x00;
    pub const LDX: u8 = 0x01;
    pub const ST: u8 = 0x02;
    pub const STX: u8 = 0x03;
    pub const ALU: u8 = 0x04;
    pub const JMP: u8 = 0x05;
    pub const JMP32: u8 = 0x06;
    pub const ALU64: u8 = 0x07;
}

/// The second operand is a register rather than the immediate.
pub const SOURCE_REGISTER: u8 = 0x08;
/// Modes of loads and stores.
const MODE_IMM: u8 = 0x00;
const MODE_MEM: u8 = 0x60;
const MODE_MEMSX: u8 = 0x80;
const MODE_ATOMIC: u8 = 0xc0;
/// `imm` of atomic operations.
const ATOMIC_ADD: i32 = 0x00;
const ATOMIC_FETCH: i32 = 0x01;
/// Operations of the jump classes that are not comparisons.
const JUMP_ALWAYS: u8 = 0x00;
const JUMP_CALL: u8 = 0x80;
const JUMP_EXIT: u8 = 0x90;
const JUMP_MAY_GOTO: u8 = 0xe0;
const ALU_NEG: u8 = 0x80;
const ALU_MOV: u8 = 0xb0;
const ALU_END: u8 = 0xd0;
/// `src` of a call of another function of the object.
const PSEUDO_CALL: u8 = 1;
/// The frame pointer: read-only, the address just above the stack frame.
pub const FRAME: u8 = 10;

/// One 8-byte slot. `ld_imm64` takes two: see [`load_imm64`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Word {
    pub code: u8,
    pub dst: u8,
    pub src: u8,
    pub off: i16,
    pub imm: i32,
}

impl Word {
    /// Little-endian eBPF, as x86-64 and arm64 kernels take it.
    pub fn bytes(self) -> [u8; 8] {
        let [off0, off1] = self.off.to_le_bytes();
        let [imm0, imm1, imm2, imm3] = self.imm.to_le_bytes();
        [self.code, self.src << 4 | self.dst, off0, off1, imm0, imm1, imm2, imm3]
    }

    pub fn class(self) -> u8 {
        self.code & 7
    }

    /// The first half of a two-slot instruction.
    pub fn is_wide(self) -> bool {
        self.code == class::LD | size_bits(Size::B8) | MODE_IMM
    }
}

/// A second operand after register allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Register(u8),
    Imm(i32),
}

impl Source {
    fn apply(self, word: Word) -> Word {
        match self {
            Source::Register(src) => Word { code: word.code | SOURCE_REGISTER, src, ..word },
            Source::Imm(imm) => Word { imm, ..word },
        }
    }
}

/// The opcode bits of a width.
pub fn size_bits(size: Size) -> u8 {
    match size {
        Size::B4 => 0x00,
        Size::B2 => 0x08,
        Size::B1 => 0x10,
        Size::B8 => 0x18,
    }
}

/// The opcode bits of an operation, and the `off` that makes a division signed.
fn binary_bits(op: BinaryOp) -> (u8, i16) {
    match op {
        BinaryOp::Add => (0x00, 0),
        BinaryOp::Sub => (0x10, 0),
        BinaryOp::Mul => (0x20, 0),
        BinaryOp::UDiv => (0x30, 0),
        BinaryOp::SDiv => (0x30, 1),
        BinaryOp::Or => (0x40, 0),
        BinaryOp::And => (0x50, 0),
        BinaryOp::Shl => (0x60, 0),
        BinaryOp::LShr => (0x70, 0),
        BinaryOp::UMod => (0x90, 0),
        BinaryOp::SMod => (0x90, 1),
        BinaryOp::Xor => (0xa0, 0),
        BinaryOp::AShr => (0xc0, 0),
    }
}

pub fn compare_bits(op: CompareOp) -> u8 {
    match op {
        CompareOp::Eq => 0x10,
        CompareOp::UGt => 0x20,
        CompareOp::UGe => 0x30,
        CompareOp::Test => 0x40,
        CompareOp::Ne => 0x50,
        CompareOp::SGt => 0x60,
        CompareOp::SGe => 0x70,
        CompareOp::ULt => 0xa0,
        CompareOp::ULe => 0xb0,
        CompareOp::SLt => 0xc0,
        CompareOp::SLe => 0xd0,
    }
}

/// `dst = dst op source`.
pub fn binary(op: BinaryOp, dst: u8, source: Source) -> Word {
    let (bits, off) = binary_bits(op);
    source.apply(Word { code: class::ALU64 | bits, dst, off, ..Word::default() })
}

/// `dst = (dst & imm) & 0xffffffff`.
pub fn and32(dst: u8, imm: i32) -> Word {
    let (bits, _) = binary_bits(BinaryOp::And);
    Word { code: class::ALU | bits, dst, imm, ..Word::default() }
}

/// `dst = source`; immediates are sign-extended.
pub fn mov(dst: u8, source: Source) -> Word {
    source.apply(Word { code: class::ALU64 | ALU_MOV, dst, ..Word::default() })
}

/// `dst = src & 0xffffffff`.
pub fn mov32(dst: u8, src: u8) -> Word {
    Source::Register(src).apply(Word { code: class::ALU | ALU_MOV, dst, ..Word::default() })
}

/// `dst` = the low `bits` (8, 16 or 32) of `src`, sign-extended.
pub fn mov_sign_extended(dst: u8, src: u8, bits: i16) -> Word {
    Word { off: bits, ..mov(dst, Source::Register(src)) }
}

/// `dst = -dst`.
pub fn negate(dst: u8) -> Word {
    Word { code: class::ALU64 | ALU_NEG, dst, ..Word::default() }
}

/// Swaps the low `bits` (16, 32 or 64) of `dst` and clears the others, whatever the host's byte order.
pub fn byte_swap(dst: u8, bits: i32) -> Word {
    Word { code: class::ALU64 | ALU_END, dst, imm: bits, ..Word::default() }
}

/// Both slots of `dst = value`.
pub fn load_imm64(dst: u8, value: i64) -> [Word; 2] {
    let code = class::LD | size_bits(Size::B8) | MODE_IMM;
    let low = Word { code, dst, imm: value as i32, ..Word::default() };
    [low, Word { imm: (value >> 32) as i32, ..Word::default() }]
}

/// `dst = *(base + off)`. There is no sign-extending load of 8 bytes, nor need of one.
pub fn load(size: Size, signed: bool, dst: u8, base: u8, off: i16) -> Word {
    let mode = if signed && size != Size::B8 { MODE_MEMSX } else { MODE_MEM };
    Word { code: class::LDX | size_bits(size) | mode, dst, src: base, off, imm: 0 }
}

/// `*(base + off) = source`.
pub fn store(size: Size, base: u8, off: i16, source: Source) -> Word {
    let word = Word { dst: base, off, ..Word::default() };
    match source {
        Source::Register(src) => Word { code: class::STX | size_bits(size) | MODE_MEM, src, ..word },
        Source::Imm(imm) => Word { code: class::ST | size_bits(size) | MODE_MEM, imm, ..word },
    }
}

/// `*(base + off) += src`; with `fetch`, `src` becomes the old value. 4 or 8 bytes.
pub fn atomic_add(size: Size, base: u8, off: i16, src: u8, fetch: bool) -> Word {
    let imm = if fetch { ATOMIC_ADD | ATOMIC_FETCH } else { ATOMIC_ADD };
    Word { code: class::STX | size_bits(size) | MODE_ATOMIC, dst: base, src, off, imm }
}

/// `if dst op source goto off`; offsets count slots from the next one.
pub fn jump_if(op: CompareOp, dst: u8, source: Source, off: i16) -> Word {
    source.apply(Word { code: class::JMP | compare_bits(op), dst, off, ..Word::default() })
}

/// Jumps when the kernel's limit for loops is used up, else goes on.
pub fn may_goto(off: i16) -> Word {
    Word { code: class::JMP | JUMP_MAY_GOTO, off, ..Word::default() }
}

pub fn jump(off: i16) -> Word {
    Word { code: class::JMP | JUMP_ALWAYS, off, ..Word::default() }
}

/// `gotol`: the distance is in the immediate.
pub fn jump_far(distance: i32) -> Word {
    Word { code: class::JMP32 | JUMP_ALWAYS, imm: distance, ..Word::default() }
}

pub fn call_helper(id: i32) -> Word {
    Word { code: class::JMP | JUMP_CALL, imm: id, ..Word::default() }
}

/// A call that a relocation completes; -1 is what libbpf expects of a call by symbol.
pub fn call_function() -> Word {
    Word { code: class::JMP | JUMP_CALL, src: PSEUDO_CALL, imm: -1, ..Word::default() }
}

pub fn exit() -> Word {
    Word { code: class::JMP | JUMP_EXIT, ..Word::default() }
}
