//! What each instruction does, one file for each family of opcodes.

pub mod access;
pub mod arithmetic;
mod assign;
mod calls;
pub mod comparison;
mod concat;
mod control;
pub mod floats;
mod integers;
mod loads;
mod numeric_for;

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::frame::{Frame, Next};
use crate::names;
use crate::opcode::{Instruction, Opcode};
use crate::state::{Slot, State};
use crate::value::Abs;
use moonhook_ir::words::PathState;

/// Executes one instruction in the current state.
pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let next = execute_in_family(context, frame, opcode, i, pc)?;
    if !matches!(next, Next::Done) && context.state.alive() {
        context.note_passed();
    }
    Ok(next)
}

fn execute_in_family<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    use Opcode::*;
    match opcode {
        Move | LoadI | LoadF | LoadK | LoadKX | LoadFalse | LoadTrue | LoadNil | GetUpval | SetUpval
        | Closure | VarArg => loads::execute(context, frame, opcode, i, pc),
        GetTabUp | GetTable | GetI | GetField | Self_ | GetVArg => {
            access::execute(context, frame, opcode, i, pc)
        }
        SetTabUp | SetTable | SetI | SetField | NewTable | SetList => {
            assign::execute(context, frame, opcode, i, pc)
        }
        AddI | AddK | SubK | MulK | ModK | PowK | DivK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI | Add
        | Sub | Mul | Mod | Pow | Div | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot | Not | Len
        | Concat => arithmetic::execute(context, frame, opcode, i),
        Eq | Lt | Le | EqK | EqI | LtI | LeI | GtI | GeI | Test | TestSet => {
            comparison::execute(context, frame, opcode, i, pc)
        }
        Call | TailCall | Return | Return0 | Return1 => calls::execute(context, frame, opcode, i, pc),
        LFalseSkip | Close | Tbc | Jmp | ForLoop | ForPrep | TForPrep | TForCall | TForLoop | ErrNNil => {
            control::execute(context, frame, opcode, i, pc)
        }
        VarArgPrep if frame.prototype.vararg_table => {
            let name = names::local_name(frame.prototype, usize::from(frame.prototype.parameters), pc + 1);
            context.refuse(LowerErrorKind::TableConstructor, Some(name.unwrap_or("...")))
        }
        // The instruction before did all the work.
        MmBin | MmBinI | MmBinK | VarArgPrep | ExtraArg => Ok(Next::Continue),
    }
}

impl<'a> Context<'a> {
    /// Register or constant, as bit k says.
    pub fn register_or_constant(&mut self, frame: &Frame<'a>, i: Instruction) -> Abs {
        if i.k() { frame.constant(self.snapshot, i.c()) } else { self.state.get(i.c()) }
    }
}

impl State {
    pub fn get(&self, register: usize) -> Abs {
        crate::paths::read_variable(self, crate::paths::Variable::Register(register))
    }

    pub fn set(&mut self, register: usize, value: Abs) {
        if self.registers.len() <= register {
            self.registers.resize(register + 1, Slot::Dead);
        }
        match self.registers[register] {
            Slot::Cell(cell) => {
                self.cells.insert(cell, value);
            }
            _ => self.registers[register] = Slot::Direct(value),
        }
    }
}
