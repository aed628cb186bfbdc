//! The code of one instruction each, by groups; semantics as in `lvm.c`.

mod access;
mod arithmetic;
mod arrays;
mod calls;
mod comparison;
mod control;
mod fields;
mod frames;
mod inlined;
mod loads;
mod texts;

use super::body::Body;
pub use comparison::immediate_value;
use moonhook_snapshot::instruction::{Instruction, Opcode};

/// Appends the code of the instruction at the body's `pc`; gives the program counter of the next one to compile.
pub fn compile(body: &mut Body<'_, '_, '_>, i: Instruction) -> usize {
    use Opcode::*;
    let next = body.pc + 1;
    let Some(opcode) = i.opcode() else { return next };
    match opcode {
        Move | LoadI | LoadF | LoadK | LoadKX | LoadFalse | LFalseSkip | LoadTrue | LoadNil | GetUpval
        | SetUpval | Closure => loads::compile(body, opcode, i),
        GetTabUp | GetTable | GetI | GetField | SetTabUp | SetTable | SetI | SetField | NewTable | Self_
        | SetList => access::compile(body, opcode, i),
        AddI | AddK | SubK | MulK | ModK | PowK | DivK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI | Add
        | Sub | Mul | Mod | Pow | Div | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot | Not | Len
        | Concat => arithmetic::compile(body, opcode, i),
        // Done by the instruction before, where it is needed.
        MmBin | MmBinI | MmBinK | ExtraArg => next,
        Eq | Lt | Le | EqK | EqI | LtI | LeI | GtI | GeI | Test | TestSet => {
            comparison::compile(body, opcode, i);
            next + 1
        }
        Call | TailCall | Return | Return0 | Return1 | VarArg | GetVArg | VarArgPrep => {
            calls::compile(body, opcode, i)
        }
        Close | Tbc | Jmp | ForLoop | ForPrep | TForPrep | TForCall | TForLoop | ErrNNil => {
            control::compile(body, opcode, i)
        }
    }
}
