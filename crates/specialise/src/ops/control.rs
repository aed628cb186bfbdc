//! Jumps, loops and the end of scopes.

use crate::builtins::traversal::NEXT;
use crate::context::{Context, Result};
use crate::frame::{Frame, Next};
use crate::names;
use crate::opcode::{Instruction, Opcode};
use crate::state::Slot;
use crate::value::{Abs, Object};
use moonhook_ir::words::{Branches, PathState};
use moonhook_snapshot::TableId;

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    match opcode {
        Opcode::LFalseSkip => {
            context.state.set(i.a(), Abs::FALSE);
            jump(context, frame, pc + 2)
        }
        // Behind what is always done, an empty `else` is a jump to the next instruction, which begins no block.
        Opcode::Jmp if i.sj() == 0 => Ok(Next::Continue),
        Opcode::Jmp => jump(context, frame, (pc as i64 + 1 + i.sj()).max(0) as usize),
        Opcode::Close => {
            close(context, i.a());
            Ok(Next::Continue)
        }
        Opcode::Tbc => to_be_closed(context, i.a()),
        Opcode::ForPrep => super::numeric_for::prepare(context, frame, i, pc),
        Opcode::ForLoop => super::numeric_for::turn(context, frame, i, pc),
        Opcode::TForPrep => {
            // 5.5: the closing value and the control variable change places.
            let (closing, control) = (context.state.get(i.a() + 3), context.state.get(i.a() + 2));
            if closing != Abs::Nil {
                return to_be_closed(context, i.a() + 3);
            }
            context.state.set(i.a() + 2, closing);
            context.state.set(i.a() + 3, control);
            begin_traversal(context, i)?;
            jump(context, frame, pc + 1 + i.bx())
        }
        Opcode::TForCall => match context.state.get(i.a()) {
            Abs::Object(Object::Traversal { table, depth }) => {
                traversal_turn(context, frame, i, pc, (table, depth))
            }
            _ => generic_for_call(context, frame, i, pc),
        },
        Opcode::TForLoop => generic_for_loop(context, frame, i, pc),
        _ => global_defined(context, frame, i),
    }
}

fn jump<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, target: usize) -> Result<Next> {
    let state = context.take_state();
    context.enter_block(frame, target, state);
    Ok(Next::Done)
}

/// Registers from `first` on stop being the captured variables: closures keep the cells.
fn close(context: &mut Context<'_>, first: usize) {
    for register in first..context.state.registers.len() {
        if let Slot::Cell(cell) = context.state.registers[register] {
            let value = context.state.cells.get(&cell).cloned().unwrap_or(Abs::Nil);
            context.state.registers[register] = Slot::Direct(value);
        }
    }
}

fn to_be_closed(context: &mut Context<'_>, register: usize) -> Result<Next> {
    match context.state.get(register) {
        Abs::Nil => Ok(Next::Continue),
        value if value.truth() == Some(false) => Ok(Next::Continue),
        _ => {
            let name = context.execution.register_name(register);
            context.unsupported(
                "a `<close>` variable",
                "call the function at the end of the block",
                names::text(&name),
            )
        }
    }
}

/// `R[A + 3], … := R[A](R[A + 1], R[A + 3])`, and the instruction behind it, which goes on or ends the loop: for each path
/// that returns by itself, since most say which it is.
fn generic_for_call<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let iterator = context.state.get(i.a());
    let args = vec![context.state.get(i.a() + 1), context.state.get(i.a() + 3)];
    let arms = context.call(&iterator, args, Some(("for iterator", b"for iterator".to_vec())))?;
    let next = Instruction(frame.prototype.code[pc + 1]);
    for mut arm in arms.into_iter().filter(|arm| arm.state.alive()) {
        arm.values.resize(i.c(), Abs::Nil);
        context.state = arm.state;
        for (offset, value) in arm.values.into_iter().enumerate() {
            context.state.set(i.a() + 3 + offset, value);
        }
        context.set_pc(frame, pc + 1);
        generic_for_loop(context, frame, next, pc + 1)?;
    }
    Ok(Next::Done)
}

/// `OP_TFORLOOP`: another turn unless the control variable is nil.
fn generic_for_loop<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let control = context.state.get(i.a() + 3);
    let nil = super::comparison::equal(context, &control, &Abs::Nil)?;
    let (done, more) = context.split_truth(&nil);
    more.into_iter().for_each(|state| context.enter_block(frame, (pc + 1).saturating_sub(i.bx()), state));
    done.into_iter().for_each(|state| context.enter_block(frame, pc + 1, state));
    Ok(Next::Done)
}

/// A loop with `next` over a shared table, from the first entry on, becomes a traversal.
fn begin_traversal(context: &mut Context<'_>, i: Instruction) -> Result<()> {
    let (iterator, state, control) =
        (context.state.get(i.a()), context.state.get(i.a() + 1), context.state.get(i.a() + 3));
    if let (Abs::Object(Object::Builtin(NEXT)), Abs::Object(Object::Table(table)), Abs::Nil) =
        (iterator, state, control)
        && context.known.shared.is_shared(context.snapshot, table)
    {
        let traversal = context.traverse(table)?;
        context.state.set(i.a(), traversal.iterator);
        context.state.set(i.a() + 1, traversal.left);
    }
    Ok(())
}

/// The call of the iterator, and the test that follows, of a traversal.
fn traversal_turn<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
    (table, depth): (TableId, u32),
) -> Result<Next> {
    let Abs::Int(left) = context.state.get(i.a() + 1) else { return Ok(Next::Done) };
    let body = Instruction(frame.prototype.code[pc + 1]).bx();
    let turn = context.traverse_on(table, depth, left)?;
    turn.end.into_iter().for_each(|state| context.enter_block(frame, pc + 2, state));
    if let Some(mut values) = context.join(turn.entries)? {
        context.state.set(i.a() + 1, values.pop().unwrap_or(Abs::Nil));
        values.resize(i.c(), Abs::Nil);
        for (offset, value) in values.into_iter().enumerate() {
            context.state.set(i.a() + 3 + offset, value);
        }
        let state = context.take_state();
        context.enter_block(frame, (pc + 2).saturating_sub(body), state);
    }
    Ok(Next::Done)
}

/// `OP_ERRNNIL`: a `global` declaration with a value, for a global that is there already.
fn global_defined<'a>(context: &mut Context<'a>, frame: &Frame<'a>, i: Instruction) -> Result<Next> {
    let value = context.state.get(i.a());
    let nil = super::comparison::equal(context, &value, &Abs::Nil)?;
    let (fine, defined) = context.split_truth(&nil);
    context.enter(defined)?;
    context.fail(crate::events::Message::new(names::already_defined(frame.prototype, i)));
    context.enter(fine)?;
    Ok(Next::Continue)
}
