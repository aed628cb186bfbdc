//! The numeric `for` loop, over integers or floats (Lua manual § 3.3.5; `forprep`, `forlimit` and `floatforloop` in lvm.c).

use super::floats::Number;
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::floats::{self, Comparison};
use crate::frame::{Frame, Next};
use crate::numerals::Numeral;
use crate::opcode::Instruction;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Str, Variant, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};

/// `OP_FORPREP`: R[A] initial value, R[A + 1] limit, R[A + 2] step become count (of integers) or limit (of floats), step, control
/// variable.
pub fn prepare<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let registers = [i.a(), i.a() + 1, i.a() + 2];
    if let Some(register) = registers.into_iter().find(|register| may_be_float(&context.state.get(*register)))
    {
        let value = context.state.get(register);
        for (state, concrete) in context.alternatives(&value)? {
            context.state = state;
            context.state.set(register, concrete);
            prepare(context, frame, i, pc)?;
        }
        return Ok(Next::Done);
    }
    let counts_floats = [i.a(), i.a() + 2].into_iter().any(|register| is_float(&context.state.get(register)));
    match counts_floats {
        true => prepare_floats(context, frame, i, pc),
        false => prepare_integers(context, frame, i, pc),
    }
}

/// Whether a value of several types may be a float.
fn may_be_float(value: &Abs) -> bool {
    matches!(value, Abs::Union(union) if union.variants.contains(&Variant::Float))
}

/// Numerals are floats where they are no limit.
fn is_float(value: &Abs) -> bool {
    match value {
        Abs::Float(_) => true,
        Abs::Str(Str::Const(text)) => Numeral::of(text).is_some(),
        _ => false,
    }
}

fn prepare_integers<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let is_integer = |register: usize| matches!(context.state.get(register), Abs::Int(_));
    // Where the loop is none over integers, the limit is looked at first.
    let is_odd = [i.a(), i.a() + 2].into_iter().any(|register| !is_integer(register));
    if is_odd
        && (number(context, i.a() + 1, "limit")?.is_none() || integer(context, i.a() + 2, "step")?.is_none())
    {
        return Ok(Next::Done);
    }
    let Some(init) = integer(context, i.a(), "initial value")? else { return Ok(Next::Done) };
    let Some(step) = integer(context, i.a() + 2, "step")? else { return Ok(Next::Done) };
    let zero = context.compare(CompareOp::Eq, step, 0);
    context.check(zero, step_is_zero);
    if !context.state.alive() {
        return Ok(Next::Done);
    }
    let Some(limit) = number(context, i.a() + 1, "limit")? else { return Ok(Next::Done) };
    let up = context.compare(CompareOp::SGt, step, 0);
    let (ascending, descending) = context.split(up);
    let mut skipped = Vec::new();
    let mut arms = Vec::new();
    for (state, up) in [(ascending, true), (descending, false)] {
        context.state = state;
        let limit = match limit {
            _ if !context.state.alive() => continue,
            Number::Integer(limit) => limit,
            Number::Float(limit) => clip(context, limit, up, &mut skipped)?,
        };
        if !context.state.alive() {
            continue;
        }
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
        enter(context, frame, (i, pc), [count.clone(), Abs::Int(step), Abs::Int(init)]);
    }
    skipped.into_iter().for_each(|state| context.enter_block(frame, pc + i.bx() + 2, state));
    Ok(Next::Done)
}

/// The loop begins, with what its three registers hold.
fn enter<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    (i, pc): (Instruction, usize),
    values: [Abs; 3],
) {
    for (offset, value) in values.into_iter().enumerate() {
        context.state.set(i.a() + offset, value);
    }
    let state = context.take_state();
    context.enter_block(frame, pc + 1, state);
}

fn step_is_zero() -> Message {
    Message::new("'for' step is zero")
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

/// A float limit of a loop over integers becomes the last integer before it (`forlimit`), so that `for i = 1, math.huge` works; `skipped`
/// gets the states in which the loop does not run because there is none.
fn clip(context: &mut Context<'_>, limit: Word, up: bool, skipped: &mut Vec<State>) -> Result<Word> {
    let rounded = context.rounded_float(limit, !up)?;
    let integral = context.is_integral(rounded)?;
    let (within, beyond) = context.split(integral);
    context.state = within;
    let last = context.integer_of_float(rounded)?;
    let mut arms = vec![Arm { state: context.take_state(), values: vec![Abs::Int(last)] }];
    context.state = beyond;
    let positive = context.compare_floats(Comparison::Less, Word::Imm(0), limit)?;
    let (positive, other) = context.split(positive);
    let (kept, none, bound) = if up { (positive, other, i64::MAX) } else { (other, positive, i64::MIN) };
    skipped.push(none);
    arms.push(Arm { state: kept, values: vec![Abs::int(bound)] });
    context.join_word(arms)
}

fn prepare_floats<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let Some(limit) = float(context, i.a() + 1, "limit")? else { return Ok(Next::Done) };
    let Some(step) = float(context, i.a() + 2, "step")? else { return Ok(Next::Done) };
    let Some(init) = float(context, i.a(), "initial value")? else { return Ok(Next::Done) };
    let zero = context.compare_floats(Comparison::Equal, step, Word::Imm(0))?;
    context.check(zero, step_is_zero);
    for (state, up) in by_direction(context, step)? {
        context.state = state;
        let (first, second) = if up { (limit, init) } else { (init, limit) };
        let none = context.compare_floats(Comparison::Less, first, second)?;
        let (none, some) = context.split(none);
        context.enter_block(frame, pc + i.bx() + 2, none);
        context.state = some;
        if context.state.alive() {
            enter(context, frame, (i, pc), [limit, step, init].map(Abs::Float));
        }
    }
    Ok(Next::Done)
}

/// The states in which a loop over floats goes up, and those in which it goes down.
fn by_direction(context: &mut Context<'_>, step: Word) -> Result<Vec<(State, bool)>> {
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let up = context.compare_floats(Comparison::Less, Word::Imm(0), step)?;
    let (ascending, descending) = context.split(up);
    let both = [(ascending, true), (descending, false)];
    Ok(both.into_iter().filter(|(state, _)| state.alive()).collect())
}

/// What to write instead of strings.
const HELP: &str = "write an integer, or make one with `tonumber`";

/// A control value as a number, whatever its type turns out to be; `None`, with the state dead, if it is none. Numerals are numbers here
/// too.
fn number(context: &mut Context<'_>, register: usize, what: &str) -> Result<Option<Number>> {
    let value = context.state.get(register);
    let mut certain = true;
    let values = context.dispatch(&value, &mut |context, concrete| {
        certain &= !matches!(value, Abs::Union(_));
        match &concrete {
            Abs::Int(_) | Abs::Float(_) => return Ok(vec![concrete]),
            Abs::Str(Str::Const(text)) => match Numeral::of(text) {
                Some(Numeral::Integer(integer)) => return Ok(vec![Abs::int(integer)]),
                Some(Numeral::Float(float)) => return Ok(vec![Abs::float(float)]),
                Some(Numeral::HexFloat) => return refuse_string(context, what),
                None => {}
            },
            Abs::Str(_) => return refuse_string(context, what),
            _ => {}
        }
        let type_name = concrete.message_name();
        let message = format!("bad 'for' {what} (number expected, got {type_name})");
        context.type_error(message, certain, Some("for"));
        Ok(vec![Abs::int(0)])
    })?;
    Ok(match values.first() {
        Some(Abs::Int(word)) if context.state.alive() => Some(Number::Integer(*word)),
        Some(Abs::Float(word)) if context.state.alive() => Some(Number::Float(*word)),
        _ => None,
    })
}

fn refuse_string<T>(context: &Context<'_>, what: &str) -> Result<T> {
    context.unsupported(format!("a string as the 'for' {what}"), HELP, Some("for"))
}

/// A control value of a loop over integers that is no limit.
fn integer(context: &mut Context<'_>, register: usize, what: &str) -> Result<Option<Word>> {
    Ok(match number(context, register, what)? {
        Some(Number::Integer(word)) => Some(word),
        _ => None,
    })
}

/// A control value of a loop over floats.
fn float(context: &mut Context<'_>, register: usize, what: &str) -> Result<Option<Word>> {
    Ok(match number(context, register, what)? {
        Some(Number::Integer(word)) => Some(context.float_of_integer(word)?),
        Some(Number::Float(word)) => Some(word),
        None => None,
    })
}

/// `OP_FORLOOP`.
pub fn turn<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, i: Instruction, pc: usize) -> Result<Next> {
    let values = [i.a(), i.a() + 1, i.a() + 2].map(|register| context.state.get(register));
    match values {
        [Abs::Int(count), Abs::Int(step), Abs::Int(index)] => {
            integer_turn(context, frame, (i, pc), [count, step, index])
        }
        [Abs::Float(limit), Abs::Float(step), Abs::Float(index)] => {
            return float_turn(context, frame, (i, pc), [limit, step, index]);
        }
        values if values.iter().any(may_be_float) => {
            let what = "a 'for' loop over either integers or floats".to_string();
            let help = "make all three values floats, for example with `+ 0.0`".to_string();
            return context.refuse(LowerErrorKind::Float { what, help }, Some("for"));
        }
        _ => {}
    }
    Ok(Next::Done)
}

fn integer_turn<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    (i, pc): (Instruction, usize),
    [count, step, index]: [Word; 3],
) {
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
}

fn float_turn<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    (i, pc): (Instruction, usize),
    [limit, step, index]: [Word; 3],
) -> Result<Next> {
    let index = context.compute(&floats::ADD, &[index, step])?;
    for (state, up) in by_direction(context, step)? {
        context.state = state;
        let (first, second) = if up { (index, limit) } else { (limit, index) };
        let more = context.compare_floats(Comparison::LessOrEqual, first, second)?;
        let (more, done) = context.split(more);
        context.state = more;
        if context.state.alive() {
            context.state.set(i.a() + 2, Abs::Float(index));
            let state = context.take_state();
            context.enter_block(frame, (pc + 1).saturating_sub(i.bx()), state);
        }
        context.enter_block(frame, pc + 1, done);
    }
    Ok(Next::Done)
}
