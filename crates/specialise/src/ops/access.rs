//! Instructions that read a field, and what becomes of values that depend on the path.

use crate::context::{Context, Result};
use crate::frame::{Frame, Next};
use crate::indexing::index_arms;
use crate::names;
use crate::opcode::{Instruction, Opcode};
use crate::paths::Arm;
use crate::same::note_read;
use crate::value::{Abs, Object, Str, Variant, Word, float_of, integral};
use moonhook_ir::words::{Branches, PathState};
use moonhook_snapshot::Value;

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    use Opcode::*;
    if opcode == GetVArg {
        return var_arg_field(context, frame, i);
    }
    let (object, name) = match opcode {
        GetTabUp => (
            super::loads::read_upvalue(context, frame, i.b()),
            Some(names::of_upvalue(frame.prototype, i.b())),
        ),
        _ => (context.state.get(i.b()), names::of_register(frame.prototype, pc, i.b())),
    };
    let key = match opcode {
        GetTable => context.state.get(i.c()),
        GetI => Abs::int(i.c() as i64),
        _ => frame.constant(context.snapshot, i.c()),
    };
    if opcode == Self_ {
        context.state.set(i.a() + 1, object.clone());
    }
    let arms = index_arms(context, &object, &key, &name)?;
    let next = take_arms(context, frame, i.a(), arms, pc)?;
    note_field(context, frame, &object, &key, i, &next, pc);
    Ok(next)
}

/// Notes which field of the packet was read, also where the next instruction has read a field of that one at once.
fn note_field(
    context: &mut Context<'_>,
    frame: &Frame<'_>,
    object: &Abs,
    key: &Abs,
    i: Instruction,
    next: &Next,
    pc: usize,
) {
    let (Some(header), Abs::Str(Str::Const(field))) = (header_name(context, object), key) else { return };
    let mut what = format!("{header}{}", String::from_utf8_lossy(field));
    let mut register = i.a();
    if let Next::At(_) = next {
        let inner = Instruction(frame.prototype.code.get(pc + 1).copied().unwrap_or(0));
        let name = frame.prototype.constants.get(inner.c());
        let (Some(Opcode::GetField), Some(Value::String(name))) = (inner.opcode(), name) else { return };
        what = format!("{what}.{}", String::from_utf8_lossy(name));
        register = inner.a();
    }
    let value = context.state.get(register);
    note_read(&mut context.code.same, &what, Word::Imm(0), &value);
}

/// What stands before the field's name, if the object is the packet or a header of it, or nil.
fn header_name(context: &Context<'_>, object: &Abs) -> Option<String> {
    let of = |object: &Object| match object {
        Object::Packet => Some(String::new()),
        Object::Header(name) => Some(format!("{name}.")),
        _ => None,
    };
    match object {
        Abs::Object(object) => of(object),
        Abs::Union(union) => match union.variants.as_slice() {
            [Variant::Nil, Variant::Object(id)] => of(context.known.objects.get(*id)?),
            _ => None,
        },
        _ => None,
    }
}

/// Puts a value that depends on the path into a register. Where the next instruction tests or indexes that register, it is
/// executed for each path by itself: what is known of the value decides it. An instruction that is jumped to starts a block
/// of its own, which is executed once.
pub(super) fn take_arms<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    register: usize,
    arms: Vec<Arm>,
    pc: usize,
) -> Result<Next> {
    let alive = arms.iter().filter(|arm| arm.state.alive()).count();
    if alive > 0 {
        context.note_passed();
    }
    let next = Instruction(frame.prototype.code.get(pc + 1).copied().unwrap_or(0));
    let decides = match next.opcode() {
        Some(Opcode::Test) => next.a() == register,
        Some(Opcode::GetField | Opcode::Self_ | Opcode::TestSet) => next.b() == register,
        // Arithmetic on nil ends the path, so that what goes on is the one with a number.
        Some(opcode) if opcode.is_binary() => {
            let is_some =
                |arm: &&Arm| arm.state.alive() && !matches!(arm.values.first(), None | Some(Abs::Nil));
            arms.iter().filter(is_some).count() == 1 && [next.b(), next.c()].contains(&register)
        }
        _ => false,
    };
    let jumped_to = frame.flow.block_at(pc + 1).is_some();
    if alive <= 1 || !decides || jumped_to {
        let Some(values) = context.join(arms)? else { return Ok(Next::Done) };
        context.state.set(register, values.into_iter().next().unwrap_or(Abs::Nil));
        return Ok(Next::Continue);
    }
    let mut after = Vec::new();
    let mut at = None;
    for arm in arms.into_iter().filter(|arm| arm.state.alive()) {
        context.state = arm.state;
        context.state.set(register, arm.values.into_iter().next().unwrap_or(Abs::Nil));
        context.set_pc(frame, pc + 1);
        let Some(opcode) = next.opcode() else { return Ok(Next::Done) };
        let next = match super::execute(context, frame, opcode, next, pc + 1)? {
            Next::Continue => pc + 2,
            Next::At(next) => next,
            Next::Done => continue,
        };
        at = Some(next);
        after.push(context.take_state());
    }
    context.enter(after)?;
    Ok(at.map_or(Next::Done, Next::At))
}

/// `R[A] := R[B][R[C]]` where R[B] is the vararg parameter (5.5).
fn var_arg_field<'a>(context: &mut Context<'a>, frame: &Frame<'a>, i: Instruction) -> Result<Next> {
    let value = match context.state.get(i.c()) {
        Abs::Int(Word::Imm(n)) => {
            let index = usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
            frame.varargs.get(index).cloned().unwrap_or(Abs::Nil)
        }
        Abs::Str(Str::Const(text)) if *text == *b"n" => Abs::int(frame.varargs.len() as i64),
        Abs::Float(Word::Imm(bits)) => {
            let index = integral(float_of(bits)).and_then(|n| usize::try_from(n.checked_sub(1)?).ok());
            index.and_then(|index| frame.varargs.get(index)).cloned().unwrap_or(Abs::Nil)
        }
        Abs::Int(_) | Abs::Float(_) | Abs::Union(_) => {
            return context.unsupported(
                "reading a vararg table by an index that is not constant",
                "use `select`",
                None,
            );
        }
        _ => Abs::Nil,
    };
    context.state.set(i.a(), value);
    Ok(Next::Continue)
}
