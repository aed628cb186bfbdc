//! Instructions of PUC-Rio Lua 5.5 (`lopcodes.h`): opcodes and operand fields.

use std::ops::Range;

macro_rules! opcodes {
    ($($name:ident),* $(,)?) => {
        /// ORDER OP: numbered as in `lopcodes.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Opcode { $($name),* }
        const ALL: &[Opcode] = &[$(Opcode::$name),*];
    };
}

opcodes!(
    Move, LoadI, LoadF, LoadK, LoadKX, LoadFalse, LFalseSkip, LoadTrue, LoadNil, GetUpval, SetUpval,
    GetTabUp, GetTable, GetI, GetField, SetTabUp, SetTable, SetI, SetField, NewTable, Self_, AddI, AddK,
    SubK, MulK, ModK, PowK, DivK, IDivK, BAndK, BOrK, BXorK, ShlI, ShrI, Add, Sub, Mul, Mod, Pow, Div, IDiv,
    BAnd, BOr, BXor, Shl, Shr, MmBin, MmBinI, MmBinK, Unm, BNot, Not, Len, Concat, Close, Tbc, Jmp, Eq, Lt,
    Le, EqK, EqI, LtI, LeI, GtI, GeI, Test, TestSet, Call, TailCall, Return, Return0, Return1, ForLoop,
    ForPrep, TForPrep, TForCall, TForLoop, SetList, Closure, VarArg, GetVArg, ErrNNil, VarArgPrep, ExtraArg,
);

/// One instruction word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction(pub u32);

impl Instruction {
    /// `None` for a number that is no opcode, which the load stage never yields.
    pub fn opcode(self) -> Option<Opcode> {
        ALL.get((self.0 & 0x7f) as usize).copied()
    }
    pub fn a(self) -> usize {
        (self.0 >> 7 & 0xff) as usize
    }
    pub fn k(self) -> bool {
        self.0 >> 15 & 1 == 1
    }
    pub fn b(self) -> usize {
        (self.0 >> 16 & 0xff) as usize
    }
    pub fn c(self) -> usize {
        (self.0 >> 24 & 0xff) as usize
    }
    /// Field B as a signed number in excess of 127.
    pub fn sb(self) -> i64 {
        self.b() as i64 - 127
    }
    /// Field C as a signed number in excess of 127.
    pub fn sc(self) -> i64 {
        self.c() as i64 - 127
    }
    /// `vB` of the format `ivABC`: a count in 6 bits.
    pub fn vb(self) -> usize {
        (self.0 >> 16 & 0x3f) as usize
    }

    /// `vC` of the format `ivABC`, in 10 bits.
    pub fn vc(self) -> usize {
        (self.0 >> 22 & 0x3ff) as usize
    }

    pub fn bx(self) -> usize {
        (self.0 >> 15) as usize
    }
    pub fn sbx(self) -> i64 {
        self.bx() as i64 - 0xffff
    }
    pub fn ax(self) -> usize {
        (self.0 >> 7) as usize
    }
    /// The signed jump distance, relative to the next instruction.
    pub fn sj(self) -> i64 {
        (self.0 >> 7) as i64 - 0xff_ffff
    }
}

impl Instruction {
    /// The instruction changes `register` (`changes` in `findsetreg`, ldebug.c).
    pub fn sets(self, register: usize) -> bool {
        use Opcode::*;
        match self.opcode() {
            Some(LoadNil) => (self.a()..=self.a() + self.b()).contains(&register),
            Some(TForCall) => register >= self.a() + 2,
            Some(Call | TailCall) => register >= self.a(),
            Some(opcode) => opcode.sets_a() && self.a() == register,
            None => false,
        }
    }

    /// All registers that may have another value after the instruction, without end where the number of values is known at run time
    /// only. ([`Instruction::sets`] is what messages go by.)
    pub fn changes(self) -> Range<usize> {
        use Opcode::*;
        let a = self.a();
        match self.opcode() {
            Some(LoadNil) => a..a + self.b() + 1,
            Some(Call | VarArg) => a..usize::MAX,
            Some(TForCall) => a + 3..usize::MAX,
            Some(Self_) => a..a + 2,
            Some(ForLoop | ForPrep) => a..a + 3,
            // It counts as setting register A (lopcodes.c), but leaves the parameters alone.
            Some(VarArgPrep) | None => 0..0,
            Some(opcode) if opcode.sets_a() => a..a + 1,
            Some(_) => 0..0,
        }
    }
}

impl Opcode {
    /// The instruction assigns register A (`luaP_opmodes`, bit 3).
    pub fn sets_a(self) -> bool {
        use Opcode::*;
        !matches!(
            self,
            SetUpval
                | SetTabUp
                | SetTable
                | SetI
                | SetField
                | MmBin
                | MmBinI
                | MmBinK
                | Close
                | Tbc
                | Jmp
                | Eq
                | Lt
                | Le
                | EqK
                | EqI
                | LtI
                | LeI
                | GtI
                | GeI
                | Test
                | Return
                | Return0
                | Return1
                | TForPrep
                | TForCall
                | SetList
                | ErrNNil
                | ExtraArg
        )
    }

    /// It computes a value from two; the next instruction says for metamethods what from ([`crate::operation`]).
    pub fn is_binary(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            AddI | AddK
                | SubK
                | MulK
                | ModK
                | PowK
                | DivK
                | IDivK
                | BAndK
                | BOrK
                | BXorK
                | ShlI
                | ShrI
                | Add
                | Sub
                | Mul
                | Mod
                | Pow
                | Div
                | IDiv
                | BAnd
                | BOr
                | BXor
                | Shl
                | Shr
        )
    }

    /// A comparison or test: the next instruction is a jump that it may skip.
    pub fn is_test(self) -> bool {
        use Opcode::*;
        matches!(self, Eq | Lt | Le | EqK | EqI | LtI | LeI | GtI | GeI | Test | TestSet)
    }
}
