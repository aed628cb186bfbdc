//! Jumps, loops and the end of scopes.

use crate::builtins::traversal::NEXT;
use crate::context::{Context, Result};
use crate::frame::{Frame, Next};
use crate::names;
use crate::opcode::{Instruction, Opcode};
use crate::paths::Arm;
use crate::state::Slot;
use crate::strings::parse_integer;
use crate::value::{Abs, Object, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
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
        Opcode::Jmp => jump(context, frame, (pc as i64 + 1 + i.sj()).max(0) as usize),
        Opcode::Close => {
            close(context, i.a());
            Ok(Next::Continue)
        }
        Opcode::Tbc => to_be_closed(context, i.a()),
        Opcode::ForPrep => for_prepare(context, frame, i, pc),
        Opcode::ForLoop => for_loop(context, frame, i, pc),
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

/// `OP_FORPREP`: R[A] initial value, R[A + 1] limit, R[A + 2] step become count, step, control variable (`forprep` in
/// lvm.c; manual § 3.3.5).
fn for_prepare<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let is_integer = |register: usize| matches!(context.state.get(register), Abs::Int(_));
    // Where the loop is none over integers, the limit is looked at first.
    let is_float_loop = [i.a(), i.a() + 2].into_iter().any(|register| !is_integer(register));
    if is_float_loop && !matches!(context.state.get(i.a() + 1), Abs::Float(_)) {
        let both = for_number(context, i.a() + 1, "limit")?.is_some()
            && for_number(context, i.a() + 2, "step")?.is_some();
        if !both {
            return Ok(Next::Done);
        }
    }
    let Some(init) = for_number(context, i.a(), "initial value")? else { return Ok(Next::Done) };
    let Some(step) = for_number(context, i.a() + 2, "step")? else { return Ok(Next::Done) };
    let zero = context.compare(CompareOp::Eq, step, 0);
    context.check(zero, || crate::events::Message::new("'for' step is zero"));
    if !context.state.alive() {
        return Ok(Next::Done);
    }
    clip_limit(context, i.a() + 1, step);
    let Some(limit) = for_number(context, i.a() + 1, "limit")? else { return Ok(Next::Done) };
    let up = context.compare(CompareOp::SGt, step, 0);
    let (ascending, descending) = context.split(up);
    let mut skipped = Vec::new();
    let mut arms = Vec::new();
    for (state, up) in [(ascending, true), (descending, false)] {
        if !state.alive() {
            continue;
        }
        context.state = state;
        let none = context.compare(if up { CompareOp::SGt } else { CompareOp::SLt }, init, limit);
        let (none, some) = context.split(none);
        skipped.push(none);
        context.state = some;
        let count = iterations(context, init, limit, step, up);
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Int(count)] });
    }
    let count = context.join(arms)?;
    if let Some([count]) = count.as_deref() {
        context.state.set(i.a(), count.clone());
        context.state.set(i.a() + 1, Abs::Int(step));
        context.state.set(i.a() + 2, Abs::Int(init));
        let state = context.take_state();
        context.enter_block(frame, pc + 1, state);
    }
    skipped.into_iter().for_each(|state| context.enter_block(frame, pc + i.bx() + 2, state));
    Ok(Next::Done)
}

/// How often the loop runs after the first time.
fn iterations(context: &mut Context<'_>, init: Word, limit: Word, step: Word, up: bool) -> Word {
    if up {
        let distance = context.sub(limit, init);
        return if step == Word::Imm(1) { distance } else { context.binary(BinaryOp::UDiv, distance, step) };
    }
    let distance = context.sub(init, limit);
    if step == Word::Imm(-1) {
        return distance;
    }
    let size = context.sub(0, step);
    context.binary(BinaryOp::UDiv, distance, size)
}

/// A float limit becomes the last integer before it (`forlimit` in lvm.c), so that `for i = 1, math.huge` works.
fn clip_limit(context: &mut Context<'_>, register: usize, step: Word) {
    let (Abs::Float(limit), Some(step)) = (context.state.get(register), step.constant()) else { return };
    let limit = if step > 0 { limit.floor() } else { limit.ceil() };
    let far = 9_223_372_036_854_775_808.0;
    let clipped = match step > 0 {
        true if limit >= far => i64::MAX,
        false if limit < -far => i64::MIN,
        _ if (-far..far).contains(&limit) => limit as i64,
        _ => return,
    };
    context.state.set(register, Abs::int(clipped));
}

/// What to write instead of strings.
const HELP: &str = "write an integer, or make one with `tonumber`";

fn for_number(context: &mut Context<'_>, register: usize, what: &str) -> Result<Option<Word>> {
    let value = context.state.get(register);
    let mut certain = true;
    let word = context.dispatch(&value, &mut |context, concrete| {
        certain &= !matches!(value, Abs::Union(_));
        match concrete {
            Abs::Int(word) => Ok(vec![Abs::Int(word)]),
            Abs::Float(_) => {
                let what = format!("a float as the 'for' {what}");
                let help = "write it without fraction and exponent".to_string();
                context.refuse(crate::error::LowerErrorKind::Float { what, help }, Some("for"))
            }
            // Numerals are numbers here too (`forlimit` and `forprep` in lvm.c), floats where they are no limit.
            Abs::Str(Str::Const(text)) if what == "limit" && parse_integer(&text).is_some() => {
                Ok(vec![Abs::int(parse_integer(&text).unwrap_or_default())])
            }
            Abs::Str(Str::Const(text)) if super::arithmetic::is_numeral(&text) => {
                context.unsupported(format!("a string as the 'for' {what}"), HELP, Some("for"))
            }
            Abs::Str(text) if !matches!(text, Str::Const(_)) => {
                context.unsupported(format!("a string as the 'for' {what}"), HELP, Some("for"))
            }
            other => {
                let type_name = other.message_name();
                let message = format!("bad 'for' {what} (number expected, got {type_name})");
                context.type_error(message, certain, Some("for"));
                Ok(vec![Abs::int(0)])
            }
        }
    })?;
    Ok(match word.first() {
        Some(Abs::Int(word)) if context.state.alive() => Some(*word),
        _ => None,
    })
}

fn for_loop<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, i: Instruction, pc: usize) -> Result<Next> {
    let (Abs::Int(count), Abs::Int(step), Abs::Int(index)) =
        (context.state.get(i.a()), context.state.get(i.a() + 1), context.state.get(i.a() + 2))
    else {
        return Ok(Next::Done);
    };
    let more = context.compare_apart(CompareOp::Ne, count, 0);
    let (more, done) = context.split(more);
    context.state = more;
    if context.state.alive() {
        let count = context.sub(count, 1);
        let index = context.add(index, step);
        context.state.set(i.a(), Abs::Int(count));
        context.state.set(i.a() + 2, Abs::Int(index));
        let state = context.take_state();
        context.enter_block(frame, (pc + 1).saturating_sub(i.bx()), state);
    }
    context.enter_block(frame, pc + 1, done);
    Ok(Next::Done)
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
