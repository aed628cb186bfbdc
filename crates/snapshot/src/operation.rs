//! What an arithmetic or bitwise instruction is in the source.
//!
//! The compiler exchanges operands and writes `x - 1` as the addition of -1; the instruction behind, for metamethods, has event and
//! operands as they were written (`finishbinexpval`, `finishbinexpneg` in lcode.c).

use crate::Prototype;
use crate::instruction::{Instruction, Opcode};

/// Names of metamethods by the number of their event (`TMS` in ltm.h).
pub const EVENTS: [&str; 22] = [
    "__index",
    "__newindex",
    "__gc",
    "__mode",
    "__len",
    "__eq",
    "__add",
    "__sub",
    "__mul",
    "__mod",
    "__pow",
    "__div",
    "__idiv",
    "__band",
    "__bor",
    "__bxor",
    "__shl",
    "__shr",
    "__unm",
    "__bnot",
    "__lt",
    "__le",
];

const UNM: usize = 18;
const BNOT: usize = 19;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(usize),
    Integer(i64),
    /// The constant of that number.
    Constant(usize),
}

/// An operator and its operands as they are written; a unary operator has the same one twice, as its metamethod gets it (Lua manual § 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The number of the metamethod's event.
    pub number: usize,
    pub operands: [Operand; 2],
}

impl Operation {
    /// The name of the metamethod.
    pub fn event(&self) -> &'static str {
        EVENTS.get(self.number).copied().unwrap_or_default()
    }
}

impl Prototype {
    /// What the instruction at `pc` computes, if it has an arithmetic or bitwise operator.
    pub fn operation(&self, pc: usize) -> Option<Operation> {
        let i = Instruction(*self.code.get(pc)?);
        let unary = |number| Some(Operation { number, operands: [Operand::Register(i.b()); 2] });
        match i.opcode()? {
            Opcode::Unm => return unary(UNM),
            Opcode::BNot => return unary(BNOT),
            opcode if !opcode.is_binary() => return None,
            _ => {}
        }
        let behind = Instruction(*self.code.get(pc + 1)?);
        let first = Operand::Register(behind.a());
        let second = match behind.opcode()? {
            Opcode::MmBin => Operand::Register(behind.b()),
            Opcode::MmBinI => Operand::Integer(behind.sb()),
            Opcode::MmBinK => Operand::Constant(behind.b()),
            _ => return None,
        };
        let operands = if behind.k() { [second, first] } else { [first, second] };
        Some(Operation { number: behind.c(), operands })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prototype(code: Vec<u32>) -> Prototype {
        Prototype { code, ..Prototype::default() }
    }

    #[test]
    fn operands_are_in_the_order_of_the_source() {
        let word = |opcode: Opcode, a: u32, k: u32, b: u32, c: u32| {
            opcode as u32 | a << 7 | k << 15 | b << 16 | c << 24
        };
        use Opcode::*;
        use Operand::*;
        // x - 1 and 10 + x, x in register 3; x * k, k in the constants; -x.
        let code = vec![
            word(AddI, 0, 0, 3, 126),
            word(MmBinI, 3, 0, 128, 7),
            word(AddI, 0, 0, 3, 137),
            word(MmBinI, 3, 1, 137, 6),
            word(MulK, 0, 0, 3, 5),
            word(MmBinK, 3, 0, 5, 8),
            word(Unm, 0, 0, 3, 0),
        ];
        let prototype = prototype(code);
        let found: Vec<_> =
            (0..8).map(|pc| prototype.operation(pc).map(|it| (it.event(), it.operands))).collect();
        assert_eq!(found[0], Some(("__sub", [Register(3), Integer(1)])));
        assert_eq!(found[2], Some(("__add", [Integer(10), Register(3)])));
        assert_eq!(found[4], Some(("__mul", [Register(3), Constant(5)])));
        assert_eq!(found[6], Some(("__unm", [Register(3); 2])));
        assert_eq!([found[1], found[3], found[5], found[7]], [None; 4]);
        assert_eq!((EVENTS[UNM], EVENTS[BNOT]), ("__unm", "__bnot"));
    }
}
