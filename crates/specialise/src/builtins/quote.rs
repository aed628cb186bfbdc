//! The conversion `%q` of `string.format`: a value as Lua reads it back (`addliteral` in lstrlib.c).

use super::call::Call;
use crate::context::{Context, Result};
use crate::formatting::{constant, put_byte, scratch};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};

/// The literal of an argument; `None`, with the state dead, where it has none.
pub fn quoted(context: &mut Context<'_>, call: &Call, number: usize, value: &Abs) -> Result<Option<Str>> {
    match value {
        Abs::Str(Str::Const(text)) => Ok(Some(constant(quoted_bytes(text)))),
        Abs::Str(text) => quoted_slice(context, text).map(Some),
        Abs::Int(word) => integer(context, *word).map(Some),
        Abs::Nil | Abs::Bool(_) => super::base::text_of(context, value).map(Some),
        Abs::Float(_) => context.refuse_float_text("%q"),
        Abs::Union(_) => {
            let text = context.dispatch_one(value, &mut |context, value| {
                let mut call = call.clone();
                call.narrowed = true;
                match quoted(context, &call, number, &value)? {
                    Some(text) => Ok(Abs::Str(context.copied(text)?)),
                    None => Ok(Abs::Nil),
                }
            })?;
            Ok(match text {
                Abs::Str(text) => Some(text),
                _ => None,
            })
        }
        Abs::Object(_) | Abs::Entry { .. } | Abs::Structure { .. } => {
            let message = call.bad_argument(number, "value has no literal form");
            context.type_error(message, !call.narrowed, Some("format"));
            Ok(None)
        }
    }
}

/// The smallest integer is written in hexadecimal: its decimal form would be read as a float.
fn integer(context: &mut Context<'_>, word: Word) -> Result<Str> {
    const SMALLEST: &str = "0x8000000000000000";
    let smallest = context.compare(CompareOp::Eq, word, i64::MIN);
    let (smallest, usual) = context.split(smallest);
    let mut arms = vec![Arm { state: smallest, values: vec![Abs::text(SMALLEST)] }];
    context.state = usual;
    if context.state.alive() {
        let text = context.integer_text(word)?;
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Str(text)] });
    }
    // One of both spaces for all paths.
    for arm in &mut arms {
        if let Some(Abs::Str(text)) = arm.values.first().cloned()
            && matches!(word, Word::Value(_))
            && arm.state.alive()
        {
            std::mem::swap(&mut context.state, &mut arm.state);
            arm.values = vec![Abs::Str(context.copied(text)?)];
            std::mem::swap(&mut context.state, &mut arm.state);
        }
    }
    Ok(match context.join(arms)?.and_then(|values| values.into_iter().next()) {
        Some(Abs::Str(text)) => text,
        _ => constant(""),
    })
}

/// `addquoted`.
fn quoted_bytes(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'"' | b'\\' | b'\n' => quoted.extend([b'\\', *byte]),
            byte if byte.is_ascii_control() => {
                let digit = text.get(index + 1).is_some_and(u8::is_ascii_digit);
                quoted.extend(if digit { format!("\\{byte:03}") } else { format!("\\{byte}") }.bytes());
            }
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    quoted
}

fn quoted_slice(context: &mut Context<'_>, text: &Str) -> Result<Str> {
    let slice = context.slice_of(text)?;
    // A byte becomes at most four; quotes stand around.
    let room = context.shl(slice.length, 2);
    let room = context.add(room, 8);
    let start = context.allocate(room)?;
    put_byte(context, start, Word::Imm(b'"'.into()))?;
    let first = context.add(start, 1);
    let arms = context.repeat(&[Word::Imm(0), first], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (at, to) = (variables[0], variables[1]);
        let done = context.compare(CompareOp::SGe, at, slice.length);
        let (done, more) = context.split(done);
        iteration.leave_in(done, vec![Abs::Int(to)]);
        context.state = more;
        let byte = context.byte_at(slice, at)?;
        let to = put_quoted(context, slice, at, byte, to)?;
        let next = context.add(at, 1);
        iteration.again(context, vec![next, to]);
        Ok(iteration)
    })?;
    let Some([Abs::Int(end)]) = context.join(arms)?.as_deref().map(|values| [values[0].clone()]) else {
        return Ok(constant(""));
    };
    put_byte(context, end, Word::Imm(b'"'.into()))?;
    let length = context.sub(end, start);
    let length = context.add(length, 1);
    Ok(scratch(start, length))
}

/// Writes one byte as `%q` does; gives where the next one goes.
fn put_quoted(context: &mut Context<'_>, slice: Slice, at: Word, byte: Word, to: Word) -> Result<Word> {
    let mut arms = Vec::new();
    for (state, kind) in kinds_of(context, byte) {
        context.state = state;
        match kind {
            Quoting::Plain => {
                put_byte(context, to, byte)?;
                let after = context.add(to, 1);
                arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(after)] });
            }
            Quoting::Escaped => {
                put_byte(context, to, Word::Imm(b'\\'.into()))?;
                let place = context.add(to, 1);
                put_byte(context, place, byte)?;
                let after = context.add(to, 2);
                arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(after)] });
            }
            Quoting::Control => {
                let after = put_control(context, slice, at, byte, to)?;
                arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(after)] });
            }
        }
    }
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(after)]) => *after,
        _ => to,
    })
}

enum Quoting {
    Plain,
    Escaped,
    Control,
}

/// How `%q` writes the byte: the states for each path.
fn kinds_of(context: &mut Context<'_>, byte: Word) -> Vec<(crate::state::State, Quoting)> {
    let mut paths = Vec::new();
    for escaped in [b'"', b'\\', b'\n'] {
        let is = context.compare(CompareOp::Eq, byte, i64::from(escaped));
        let (then, otherwise) = context.split(is);
        paths.push((then, Quoting::Escaped));
        context.state = otherwise;
    }
    // `iscntrl` in the C locale.
    for (op, limit) in [(CompareOp::ULt, 32), (CompareOp::Eq, 127)] {
        let is = context.compare(op, byte, limit);
        let (then, otherwise) = context.split(is);
        paths.push((then, Quoting::Control));
        context.state = otherwise;
    }
    let plain = context.take_state();
    paths.push((plain, Quoting::Plain));
    paths.retain(|(state, _)| state.alive());
    paths
}

/// A backslash and the decimal code: three digits where a digit follows, else as many as it needs.
fn put_control(context: &mut Context<'_>, slice: Slice, at: Word, byte: Word, to: Word) -> Result<Word> {
    let next = context.add(at, 1);
    let inside = context.compare(CompareOp::SLt, next, slice.length);
    let (inside, end) = context.split(inside);
    context.state = inside;
    let mut arms = vec![Arm { state: end, values: vec![Abs::int(0)] }];
    if context.state.alive() {
        let following = context.byte_at(slice, next)?;
        let digit = context.sub(following, i64::from(b'0'));
        let is = context.compare(CompareOp::ULt, digit, 10);
        let is = context.condition_word(is);
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(is)] });
    }
    let digit_follows = match context.join(arms)?.as_deref() {
        Some([Abs::Int(word)]) => *word,
        _ => Word::Imm(0),
    };
    put_byte(context, to, Word::Imm(b'\\'.into()))?;
    let mut place = context.add(to, 1);
    for (divisor, limit) in [(100, 100), (10, 10), (1, 0)] {
        let digit = context.binary(BinaryOp::UDiv, byte, divisor);
        let digit = context.binary(BinaryOp::UMod, digit, 10);
        let character = context.add(digit, i64::from(b'0'));
        put_byte(context, place, character)?;
        let shown = context.compare(CompareOp::UGe, byte, limit);
        let shown = context.condition_word(shown);
        let shown = context.binary(BinaryOp::Or, shown, digit_follows);
        let shown = if limit == 0 { Word::Imm(1) } else { shown };
        place = context.add(place, shown);
    }
    Ok(place)
}
