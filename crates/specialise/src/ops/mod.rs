//! What each instruction does, one file for each family of opcodes.

pub mod access;
pub mod arithmetic;
mod assign;
mod calls;
pub mod comparison;
mod concat;
mod control;
mod floats;
mod integers;
mod loads;

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::frame::{Frame, Next};
use crate::names;
use crate::opcode::{Instruction, Opcode};
use crate::state::Slot;
use crate::value::Abs;
use moonhook_ir::words::WayState;
use moonhook_snapshot::Value;

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
    pub fn get(&self, register: usize) -> Abs {
        crate::ways::read_variable(&self.state, crate::ways::Variable::Register(register))
    }

    pub fn set(&mut self, register: usize, value: Abs) {
        if self.state.registers.len() <= register {
            self.state.registers.resize(register + 1, Slot::Dead);
        }
        match self.state.registers[register] {
            Slot::Cell(cell) => {
                self.state.cells.insert(cell, value);
            }
            _ => self.state.registers[register] = Slot::Direct(value),
        }
    }

    /// A constant of the prototype.
    pub fn constant(&mut self, frame: &Frame<'a>, index: usize) -> Abs {
        self.lift(frame.prototype.constants.get(index).unwrap_or(&Value::Nil))
    }

    /// Register or constant, as bit k says.
    pub fn register_or_constant(&mut self, frame: &Frame<'a>, i: Instruction) -> Abs {
        if i.k() { self.constant(frame, i.c()) } else { self.get(i.c()) }
    }

    /// A load-time value as packet code sees it.
    pub fn lift(&mut self, value: &Value) -> Abs {
        use crate::value::{Object, Str};
        match value {
            Value::Nil => Abs::Nil,
            Value::Boolean(b) => Abs::bool(*b),
            Value::Integer(i) => Abs::int(*i),
            Value::Float(x) => Abs::Float(*x),
            Value::String(bytes) => Abs::Str(Str::Const(bytes.clone())),
            Value::Table(id) => Abs::Object(Object::Table(*id)),
            Value::Closure(id) => Abs::Object(Object::Closure(self.closure_of(*id).into())),
            Value::Builtin(name) => Abs::Object(Object::Builtin(name)),
            Value::Opaque(name, number) => Abs::Object(Object::Opaque(name, *number)),
        }
    }
}
