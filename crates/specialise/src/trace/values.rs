//! Arguments of events and fields of structures as Lua's values.

use super::reads::{described, size};
use super::texts::Ends;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_btf::{Argument, Content, Event, Field, Place, TypeId, Types};
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, KernelField, Op, Size, UnaryOp};
use std::sync::Arc;

/// An argument of the program's tracepoint.
pub fn argument(context: &mut Context<'_>, event: &Arc<Event>, argument: &Argument) -> Result<Vec<Arm>> {
    let base = context.code.function.params[0];
    match argument.place {
        Place::Word(at) => {
            let bytes = loaded_bytes(argument.content);
            let Some(bytes) = bytes else { return unreadable(context, &argument.name) };
            let word = context.load(base, at as i16, size(bytes), false);
            loaded(context, word, argument.content)
        }
        Place::Record { offset, is_described } => {
            let field = record_field(context, event, (&argument.name, is_described));
            match loaded_bytes(argument.content) {
                Some(bytes) => {
                    let word = record_word(context, field, offset, size(bytes));
                    loaded(context, word, argument.content)
                }
                None => {
                    let address = record_address(context, field, offset);
                    in_memory(context, address, argument.content, &argument.name)
                }
            }
        }
        Place::Located { offset, is_relative, is_described } => {
            let start = if is_relative { "__rel_loc_" } else { "__data_loc_" };
            let name = format!("{start}{}", argument.name);
            let field = record_field(context, event, (&name, is_described));
            let word = record_word(context, field, offset, Size::B4);
            let within = context.and(word, 0xffff);
            let from = match is_relative {
                true => record_address(context, field, offset + 4),
                false => base.into(),
            };
            let address = context.add(from, within);
            located(context, address, argument)
        }
    }
}

/// A field of a structure of a type at an address.
pub fn field(
    context: &mut Context<'_>,
    types: &Types,
    (id, structure): (TypeId, Word),
    field: &Field<'_>,
) -> Result<Vec<Arm>> {
    let known = described(types, id, field);
    if field.bits.is_some() {
        let signed = matches!(field.content, Content::Number { signed: true, .. });
        let number = context.kernel_bits(structure, field, known, signed);
        return match field.content {
            Content::Flag => flag(context, number),
            _ => context.only(Abs::Int(number)),
        };
    }
    let offset = context.offset_of(field, known);
    let address = context.add(structure, offset);
    in_memory(context, address, field.content, field.name)
}

/// What is at an address of the kernel's memory.
pub fn in_memory(context: &mut Context<'_>, address: Word, content: Content, name: &str) -> Result<Vec<Arm>> {
    match content {
        Content::Part(id) => context.only(Abs::Structure { type_id: id.0, address }),
        Content::Characters(length) => {
            // Where all of them are letters, there is no NUL.
            let text = context.kernel_text(address, i64::from(length) + 1, Ends::AtNul)?;
            context.only(Abs::Str(text))
        }
        Content::Bytes(length) => {
            let text = context.kernel_text(address, length.into(), Ends::Nowhere)?;
            context.only(Abs::Str(text))
        }
        content => match loaded_bytes(content) {
            Some(bytes) => {
                let word = context.kernel_number(address, size(bytes), false);
                loaded(context, word, content)
            }
            None => unreadable(context, name),
        },
    }
}

/// Bytes of what is loaded as a word; `None` for what is elsewhere.
fn loaded_bytes(content: Content) -> Option<u32> {
    match content {
        Content::Number { bytes, .. } => Some(bytes),
        Content::Flag => Some(1),
        Content::Address | Content::Structure(_) | Content::Text => Some(8),
        Content::Part(_) | Content::Characters(_) | Content::Bytes(_) | Content::Nothing => None,
    }
}

/// What a word is that was loaded, without sign.
fn loaded(context: &mut Context<'_>, word: Word, content: Content) -> Result<Vec<Arm>> {
    match content {
        Content::Number { bytes, signed: true, .. } => {
            let number = match bytes {
                1 => context.unary(UnaryOp::SignExtend8, word),
                2 => context.unary(UnaryOp::SignExtend16, word),
                4 => context.unary(UnaryOp::SignExtend32, word),
                _ => word,
            };
            context.only(Abs::Int(number))
        }
        Content::Flag => flag(context, word),
        Content::Structure(id) => context.structure_or_nil(id, word),
        Content::Text => context.text_or_nil(word, Ends::AtNul),
        _ => context.only(Abs::Int(word)),
    }
}

fn flag(context: &mut Context<'_>, word: Word) -> Result<Vec<Arm>> {
    let is = context.compare(CompareOp::Ne, word, 0);
    let is = context.condition_word(is);
    context.only(Abs::Bool(is))
}

/// What a word of a record points to, which lies in it.
fn located(context: &mut Context<'_>, address: Word, argument: &Argument) -> Result<Vec<Arm>> {
    match argument.content {
        Content::Text => {
            let text = context.kernel_text(address, super::texts::LONGEST, Ends::AtNul)?;
            context.only(Abs::Str(text))
        }
        _ => unreadable(context, &argument.name),
    }
}

/// The field of the event's structure, where that has it.
fn record_field(
    context: &Context<'_>,
    event: &Event,
    (name, is_described): (&str, bool),
) -> Option<&'static KernelField> {
    let types = super::types_of(context.snapshot)?;
    let id = types.structure(event.structure.as_deref()?).filter(|_| is_described)?;
    described(types, id, &types.field(id, name)?)
}

/// A word of the record that the program's context is.
fn record_word(
    context: &mut Context<'_>,
    field: Option<&'static KernelField>,
    offset: u32,
    size: Size,
) -> Word {
    let base = context.code.function.params[0];
    match field {
        Some(field) => context.kernel_field(base, field),
        None => context.load(base, offset as i16, size, false),
    }
}

fn record_address(context: &mut Context<'_>, field: Option<&'static KernelField>, offset: u32) -> Word {
    use moonhook_ir::{BinaryOp, FieldFact};
    let base = context.code.function.params[0];
    let offset = match field {
        Some(field) => context.field_fact(field, FieldFact::Offset),
        None => Word::Imm(offset.into()),
    };
    let offset = context.value(offset);
    Word::Value(context.emit(Op::Binary(BinaryOp::Add, base, offset.into())))
}

fn unreadable(context: &mut Context<'_>, name: &str) -> Result<Vec<Arm>> {
    let what = format!("reading '{name}', which is no number, text or structure,");
    context.refuse_traced(what, "read another field", name)?;
    Ok(vec![])
}
