//! The basic functions (Lua manual § 6.2).

use super::call::{Call, Row, for_each_type, returns, row};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::formatting::constant;
use crate::ops::comparison;
use crate::paths::Arm;
use crate::trace::{A_STRUCTURE, AN_EVENT};
use crate::value::{Abs, Object, Str, Word, float_of};
use moonhook_ir::Piece;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_library::float_text;
use moonhook_packet::Access;

pub const ROWS: &[Row] = &[
    Row { name: "select", any_type: true, emit: select },
    Row { name: "assert", any_type: true, emit: assert },
    Row { name: "error", any_type: false, emit: error },
    row("type", type_of),
    row("tostring", to_string),
    row("rawequal", raw_equal),
    row("rawlen", raw_len),
    row("collectgarbage", collect_garbage),
];

/// What the script's `collectgarbage` (`load/src/globals/collectgarbage.lua`) has checked: there is nothing to collect, and no memory
/// that would be in use.
fn collect_garbage(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let result = match call.arg(1) {
        Abs::Str(Str::Const(option)) if *option == *b"step" => Abs::Bool(Word::Imm(1)),
        Abs::Str(Str::Const(option)) if *option == *b"param" => Abs::Nil,
        _ => Abs::int(0),
    };
    context.only(result)
}

/// `select(n, …)`: n is known, or the arguments are chosen among. These may be of any type.
fn select(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if matches!(call.args.first(), Some(Abs::Union(_))) {
        return for_each_type(context, call, 0, |context, call| select(context, &call));
    }
    let rest = &call.args[1.min(call.args.len())..];
    let count = rest.len() as i64;
    if matches!(call.args.first(), Some(Abs::Str(Str::Const(text))) if **text == *b"#") {
        return context.only(Abs::int(count));
    }
    let out_of_range = |context: &mut Context<'_>| {
        context.fail(Message::new(call.bad_argument(1, "index out of range")));
        Ok(vec![])
    };
    match call.integer(context, 1)? {
        _ if !context.state.alive() => Ok(vec![]),
        Word::Imm(n) if n < 0 && n >= -count => returns(context, rest[(count + n) as usize..].to_vec()),
        Word::Imm(n) if n <= 0 => out_of_range(context),
        Word::Imm(n) => returns(context, rest[(n - 1).min(count) as usize..].to_vec()),
        word => {
            let mut arms = Vec::new();
            for n in (-count..0).chain(1..=count) {
                let cond = context.compare(moonhook_ir::CompareOp::Eq, word, n);
                let (then, otherwise) = context.split(cond);
                let from = if n < 0 { count + n } else { n - 1 };
                arms.push(Arm { state: then, values: rest[from as usize..].to_vec() });
                context.state = otherwise;
            }
            let beyond = context.compare(moonhook_ir::CompareOp::SGt, word, count);
            let (beyond, wrong) = context.split(beyond);
            arms.push(Arm { state: beyond, values: vec![] });
            context.state = wrong;
            out_of_range(context)?;
            Ok(arms)
        }
    }
}

/// A text as message gets a position, as `error` gives it (5.5: `luaB_assert` ends in `luaB_error`).
fn assert(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("assert"));
        return Ok(vec![]);
    }
    let (truthy, falsy) = context.split_truth(&call.arg(1));
    let arms = truthy.into_iter().map(|state| Arm { state, values: call.args.clone() }).collect();
    context.enter(falsy)?;
    if context.state.alive() {
        match call.args.get(1) {
            None => context.fail_unnoted(Message::new("assertion failed!")),
            Some(message) => raise(context, message, true)?,
        }
    }
    Ok(arms)
}

/// `error(value, level)`: the level says which of the active functions is blamed.
fn error(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let level = match call.args.get(1) {
        None | Some(Abs::Nil) => 1,
        Some(Abs::Int(Word::Imm(level))) => *level,
        _ => {
            return context.unsupported(
                "`error` with a level that depends on the packet",
                "write the level as a number, or leave it out",
                Some("error"),
            );
        }
    };
    let here = context.code.loc;
    let blamed = usize::try_from(level).ok().and_then(|level| context.execution.location_at(level));
    context.code.loc = blamed.unwrap_or(here);
    let raised = raise(context, &call.arg(1), blamed.is_some());
    context.code.loc = here;
    raised?;
    Ok(vec![])
}

/// Raises a value as an error. Only strings get a position (manual, `error`).
fn raise(context: &mut Context<'_>, value: &Abs, positioned: bool) -> Result<()> {
    match value {
        Abs::Str(Str::Const(text)) => {
            context.fail_unnoted(Message { pieces: vec![Piece::Text(text.to_vec())], positioned });
            Ok(())
        }
        Abs::Str(_) => {
            let message = Message { pieces: vec![Piece::Argument("%s".into())], positioned };
            context.fail_with(message, std::slice::from_ref(value))
        }
        Abs::Int(_) | Abs::Float(_) => {
            let message = Message { pieces: vec![Piece::Argument("%s".into())], positioned: false };
            context.fail_with(message, std::slice::from_ref(value))
        }
        Abs::Union(_) => {
            context.dispatch(value, &mut |context, value| {
                raise(context, &value, positioned)?;
                Ok(vec![])
            })?;
            Ok(())
        }
        other => {
            crate::tables::refuse_metamethod(context, other, "__tostring", None)?;
            let type_name = other.type_name().unwrap_or("?");
            let text = format!("(error object is a {type_name} value)");
            context.fail(Message::bare(text));
            Ok(())
        }
    }
}

fn type_of(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("type"));
    }
    let name = call.arg(1).type_name().unwrap_or("nil");
    context.only(Abs::text(name))
}

fn to_string(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("tostring"));
        return Ok(vec![]);
    }
    if let Some(handler) = crate::tables::metamethod(context, &call.arg(1), "__tostring") {
        return text_by(context, &handler, call.arg(1));
    }
    let text = text_of(context, &call.arg(1))?;
    context.only(Abs::Str(text))
}

/// What the metamethod `__tostring` of a table gives, which has to be a string (`luaL_tolstring`).
fn text_by(context: &mut Context<'_>, handler: &Abs, table: Abs) -> Result<Vec<Arm>> {
    let arms = context.call(handler, vec![table], Some(("metamethod", b"tostring".to_vec())))?;
    let mut given = Vec::new();
    for arm in arms {
        context.state = arm.state;
        let value = arm.values.into_iter().next().unwrap_or(Abs::Nil);
        given.extend(context.arms_of_each(&value, &mut |context, value| match value {
            Abs::Str(_) => context.only(value.clone()),
            Abs::Int(_) | Abs::Float(_) => {
                let text = text_of(context, value)?;
                context.only(Abs::Str(text))
            }
            _ => {
                let help = "let `__tostring` return a string";
                context.certain_error("'__tostring' must return a string", None, help);
                Ok(vec![])
            }
        })?);
    }
    Ok(given)
}

/// What `tostring` makes of a value of known type.
pub fn text_of(context: &mut Context<'_>, value: &Abs) -> Result<Str> {
    match value {
        Abs::Str(text) => Ok(text.clone()),
        Abs::Int(word) => context.integer_text(*word),
        Abs::Nil => Ok(constant("nil")),
        Abs::Bool(Word::Imm(imm)) => Ok(constant(if *imm != 0 { "true" } else { "false" })),
        Abs::Bool(word) => {
            let cond = context.compare(moonhook_ir::CompareOp::Ne, *word, 0);
            let (then, otherwise) = context.split(cond);
            let mut arms = Vec::new();
            for (state, text) in [(then, "true"), (otherwise, "false")] {
                context.state = state;
                if let (space, Word::Imm(start), Word::Imm(length)) = context.slice(&constant(text))? {
                    let (start, length) = (Word::Imm(start), Word::Imm(length));
                    let state = context.take_state();
                    arms.push(Arm { state, values: vec![Abs::Str(Str::Slice { space, start, length })] });
                }
            }
            Ok(match context.join(arms)?.and_then(|values| values.into_iter().next()) {
                Some(Abs::Str(text)) => text,
                _ => constant(""),
            })
        }
        Abs::Object(object) => object_text(context, object),
        Abs::Structure { .. } => {
            context.refuse_text(A_STRUCTURE)?;
            Ok(constant(""))
        }
        Abs::Entry { .. } => {
            let what = "the text of a table (real Lua shows an address)";
            context.unsupported(what, "print its fields", Some("tostring"))
        }
        Abs::Float(Word::Imm(bits)) => Ok(constant(float_text(float_of(*bits)))),
        Abs::Float(_) => context.refuse_float_text("tostring"),
        Abs::Union(_) => context.unsupported("the text of a value", "use strings", Some("tostring")),
    }
}

/// What `tostring` makes of an object: of the packet and of the second argument its bytes.
pub fn object_text(context: &mut Context<'_>, object: &Object) -> Result<Str> {
    match object {
        Object::Packet if context.target.hook.is_trace() => {
            context.refuse_text(AN_EVENT)?;
            Ok(constant(""))
        }
        Object::Packet => {
            let length = context.packet_length();
            context.check_readable(length);
            Ok(Str::Slice { space: crate::value::Space::Packet, start: Word::Imm(0), length })
        }
        Object::Argument => {
            let length = context.argument_length()?;
            super::data::argument_text(context, Word::Imm(0), length)
        }
        Object::Text(text) => Ok(Str::Const(text.clone())),
        other => {
            let what = format!("the text of a {} (real Lua shows an address)", other.message_name());
            context.unsupported(what, "print its fields", Some("tostring"))
        }
    }
}

fn raw_equal(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.len() < 2 {
        let missing = call.bad_argument(call.args.len() + 1, "value expected");
        context.type_error(missing, true, Some("rawequal"));
        return Ok(vec![]);
    }
    let equal = comparison::equal(context, &call.arg(1), &call.arg(2))?;
    context.only(equal)
}

fn raw_len(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match call.arg(1) {
        Abs::Str(text) => {
            let length = context.string_length(&text)?;
            context.only(Abs::Int(length))
        }
        Abs::Object(crate::value::Object::Table(table)) => {
            let length = crate::tables::length(context, table)?;
            context.only(length)
        }
        Abs::Object(crate::value::Object::Made(table)) => {
            let length = context.made_length(table)?;
            context.only(Abs::int(length))
        }
        Abs::Object(crate::value::Object::Stored(table)) => {
            let length = context.stored_length(table)?;
            context.only(Abs::Int(length))
        }
        Abs::Entry { .. } => {
            context.unsupported("`rawlen` of an entry of a shared table", "use `#`", Some("rawlen"))
        }
        _ => {
            call.wrong_type(context, 1, "table or string");
            Ok(vec![])
        }
    }
}
