//! eBPF instructions as 8-byte words: RFC 9669 with the `may_goto` of Linux (include/uapi/linux/bpf.h).
//!
//! Knows encodings only; what to encode is decided by [`crate::select`] and [`crate::assemble`].

mod read;

use moonhook_ir::{AtomicOp, BinaryOp, CompareOp, Size};

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
const ATOMIC_FETCH: i32 = 0x01;
/// Operations of the jump classes that are not comparisons.
const JUMP_ALWAYS: u8 = 0x00;
const JUMP_CALL: u8 = 0x80;
const JUMP_EXIT: u8 = 0x90;
const JUMP_MAY_GOTO: u8 = 0xe0;
const ALU_NEG: u8 = 0x80;
const ALU_MOV: u8 = 0xb0;
const ALU_END: u8 = 0xd0;
/// The operation that makes little-endian numbers of the host's, in the class of 32 bits.
pub const SWAP_TO_LITTLE: u8 = ALU_END;
/// `off` of a move that changes the address space (`BPF_ADDR_SPACE_CAST`), and `imm` of one from the arena to the kernel.
const ADDRESS_SPACE_CAST: i16 = 1;
const CAST_FROM_ARENA: i32 = 1;
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

    /// The word that has these bytes.
    pub fn of_bytes([code, registers, off0, off1, imm @ ..]: [u8; 8]) -> Word {
        let (off, imm) = (i16::from_le_bytes([off0, off1]), i32::from_le_bytes(imm));
        Word { code, dst: registers & 0xf, src: registers >> 4, off, imm }
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

/// `dst` = the address of the arena's byte at the offset in the low 32 bits of `src`.
pub fn arena_address(dst: u8, src: u8) -> Word {
    Word { off: ADDRESS_SPACE_CAST, imm: CAST_FROM_ARENA, ..mov(dst, Source::Register(src)) }
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
pub fn atomic((op, size): (AtomicOp, Size), base: u8, off: i16, src: u8, fetch: bool) -> Word {
    let op = match op {
        AtomicOp::Add => 0x00,
        AtomicOp::Or => 0x40,
        AtomicOp::And => 0x50,
    };
    let imm = if fetch { op | ATOMIC_FETCH } else { op };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(word: Word) -> String {
        word.bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The bytes are those of `llvm-mc -mcpu=v4` (LLVM 19) for the text on the left.
    #[test]
    fn encodings_are_those_of_llvm() {
        use {BinaryOp::*, CompareOp::*, Size::*, Source::*};
        let table = [
            ("r2 *= r1", binary(Mul, 2, Register(1)), "2f12000000000000"),
            ("r2 += -4", binary(Add, 2, Imm(-4)), "07020000fcffffff"),
            ("r1 s/= r2", binary(SDiv, 1, Register(2)), "3f21010000000000"),
            ("r1 s%= 7", binary(SMod, 1, Imm(7)), "9701010007000000"),
            ("r3 s>>= 63", binary(AShr, 3, Imm(63)), "c70300003f000000"),
            ("w1 &= 15", and32(1, 15), "540100000f000000"),
            ("r6 = r1", mov(6, Register(1)), "bf16000000000000"),
            ("r0 = -1", mov(0, Imm(-1)), "b7000000ffffffff"),
            ("w3 = w1", mov32(3, 1), "bc13000000000000"),
            ("r1 = (s16)r2", mov_sign_extended(1, 2, 16), "bf21100000000000"),
            ("r2 = addr_space_cast(r1, 0, 1)", arena_address(2, 1), "bf12010001000000"),
            ("r1 = -r1", negate(1), "8701000000000000"),
            ("r1 = bswap32 r1", byte_swap(1, 32), "d701000020000000"),
            ("r1 = *(u32 *)(r6 + 0)", load(B4, false, 1, 6, 0), "6161000000000000"),
            ("r2 = *(s8 *)(r2 + 0)", load(B1, true, 2, 2, 0), "9122000000000000"),
            ("r1 = *(u64 *)(r10 - 8)", load(B8, true, 1, 10, -8), "79a1f8ff00000000"),
            ("*(u32 *)(r10 - 4) = r1", store(B4, 10, -4, Register(1)), "631afcff00000000"),
            ("*(u16 *)(r1 + 2) = 3", store(B2, 1, 2, Imm(3)), "6a01020003000000"),
            ("lock *(u64 *)(r0 + 0) += r1", atomic((AtomicOp::Add, B8), 0, 0, 1, false), "db10000000000000"),
            ("w2 = atomic_fetch_add(r1, w2)", atomic((AtomicOp::Add, B4), 1, 0, 2, true), "c321000001000000"),
            ("lock *(u64 *)(r0 + 8) |= r1", atomic((AtomicOp::Or, B8), 0, 8, 1, false), "db10080040000000"),
            ("r2 = atomic_fetch_and(r1, r2)", atomic((AtomicOp::And, B8), 1, 0, 2, true), "db21000051000000"),
            ("if r0 == 0 goto +2", jump_if(Eq, 0, Imm(0), 2), "1500020000000000"),
            ("if r1 s< r2 goto -1", jump_if(SLt, 1, Register(2), -1), "cd21ffff00000000"),
            ("may_goto +6", may_goto(6), "e500060000000000"),
            ("goto -2", jump(-2), "0500feff00000000"),
            ("gotol 100000", jump_far(100_000), "06000000a0860100"),
            ("call 1", call_helper(1), "8500000001000000"),
            ("call -1", call_function(), "85100000ffffffff"),
            ("exit", exit(), "9500000000000000"),
        ];
        for (text, word, expected) in table {
            assert_eq!(hex(word), expected, "{text}");
        }
        let [low, high] = load_imm64(1, 0x1122_3344_5566_7788);
        assert_eq!((hex(low), hex(high)), ("1801000088776655".into(), "0000000044332211".into()));
        assert!(low.is_wide() && !high.is_wide());
    }
}
