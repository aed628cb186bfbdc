//! Constants, moves, upvalues, closures and varargs.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::frame::{Frame, Next};
use crate::opcode::{Instruction, Opcode};
use crate::state::Slot;
use crate::value::{Abs, CellRef, Closure, Object};
use crate::variables::known::VariableId;

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let value = match opcode {
        Opcode::Move => context.state.get(i.b()),
        Opcode::LoadI => Abs::int(i.sbx()),
        Opcode::LoadF => Abs::float(i.sbx() as f64),
        Opcode::LoadK => frame.constant(context.snapshot, i.bx()),
        Opcode::LoadKX => {
            let extra = frame.prototype.code.get(pc + 1).copied().unwrap_or(0);
            frame.constant(context.snapshot, Instruction(extra).ax())
        }
        Opcode::LoadFalse => Abs::FALSE,
        Opcode::LoadTrue => Abs::TRUE,
        Opcode::LoadNil => {
            (i.a()..=i.a() + i.b()).for_each(|register| context.state.set(register, Abs::Nil));
            return Ok(Next::Continue);
        }
        Opcode::GetUpval => read_upvalue(context, frame, i.b()),
        Opcode::SetUpval => {
            let value = context.state.get(i.a());
            write_upvalue(context, frame, i.b(), value)?;
            return Ok(Next::Continue);
        }
        Opcode::Closure => make_closure(context, frame, i),
        _ => return var_arg(context, frame, i),
    };
    context.state.set(i.a(), value);
    Ok(Next::Continue)
}

/// The value of the current function's upvalue.
pub fn read_upvalue<'a>(context: &mut Context<'a>, frame: &Frame<'a>, index: usize) -> Abs {
    match frame.closure.upvalues.get(index) {
        Some(CellRef::Local(cell)) => context.state.cells.get(cell).cloned().unwrap_or(Abs::Nil),
        Some(CellRef::Snapshot(cell)) => match context.read_assigned(&VariableId::Cell(*cell)) {
            Some(value) => value,
            None => Abs::of_load_time(context.snapshot, &context.snapshot.cell(*cell).value),
        },
        None => Abs::Nil,
    }
}

fn write_upvalue<'a>(context: &mut Context<'a>, frame: &Frame<'a>, index: usize, value: Abs) -> Result<()> {
    match frame.closure.upvalues.get(index) {
        Some(CellRef::Local(cell)) => {
            context.state.cells.insert(*cell, value);
        }
        Some(CellRef::Snapshot(cell)) => {
            let name = frame.prototype.upvalues.get(index).map_or("?", |upvalue| &upvalue.name);
            let initial = &context.snapshot.cell(*cell).value;
            context.assign(VariableId::Cell(*cell), initial, &value, name)?;
        }
        None => {}
    }
    Ok(())
}

fn make_closure<'a>(context: &mut Context<'a>, frame: &Frame<'a>, i: Instruction) -> Abs {
    let Some(&id) = frame.prototype.prototypes.get(i.bx()) else { return Abs::Nil };
    let prototype = context.snapshot.prototype(id);
    let mut upvalues = Vec::with_capacity(prototype.upvalues.len());
    for description in &prototype.upvalues {
        let index = usize::from(description.index);
        if description.in_stack {
            upvalues.push(CellRef::Local(capture(context, index)));
        } else {
            upvalues.extend(frame.closure.upvalues.get(index).copied());
        }
    }
    Abs::Object(Object::Closure(Closure { prototype: id, upvalues, origin: context.origin() }.into()))
}

/// The cell of a register, made when the register is first captured.
fn capture(context: &mut Context<'_>, register: usize) -> u32 {
    if let Some(Slot::Cell(cell)) = context.state.registers.get(register) {
        return *cell;
    }
    let cell = context.variable_number(register);
    let value = context.state.get(register);
    context.state.cells.insert(cell, value);
    if context.state.registers.len() <= register {
        context.state.registers.resize(register + 1, Slot::Dead);
    }
    context.state.registers[register] = Slot::Cell(cell);
    cell
}

fn var_arg<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, i: Instruction) -> Result<Next> {
    if i.k() {
        return context.refuse(LowerErrorKind::TableConstructor, Some("..."));
    }
    if i.c() == 0 {
        frame.open = Some((i.a(), frame.varargs.clone()));
    } else {
        for offset in 0..i.c() - 1 {
            let value = frame.varargs.get(offset).cloned().unwrap_or(Abs::Nil);
            context.state.set(i.a() + offset, value);
        }
    }
    Ok(Next::Continue)
}
