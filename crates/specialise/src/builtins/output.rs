//! `print` at packet time: an event whose text user space puts together.

use super::base::{object_text, text_of};
use super::call::{Call, Row, returns};
use super::format;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Object, Str, Variant, Word, float_of};
use moonhook_ir::Piece;
use moonhook_library::float_text;

pub const ROWS: &[Row] = &[Row { name: "print", any_type: true, emit: print }];

/// The text of an event in the making.
#[derive(Default)]
pub struct Line {
    pub pieces: Vec<Piece>,
    pub arguments: Vec<Abs>,
}

impl Line {
    /// Appends literal text, to the last piece if that is text too.
    pub fn text(&mut self, text: &[u8]) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
    }

    /// Appends an argument that the receiver converts.
    pub fn argument(&mut self, specification: &str, value: Abs) {
        self.pieces.push(Piece::Argument(specification.to_string()));
        self.arguments.push(value);
    }

    /// Appends what `tostring` makes of a value.
    pub fn value(&mut self, context: &mut Context<'_>, value: &Abs) -> Result<()> {
        match sendable(context, value)? {
            Abs::Nil => self.text(b"nil"),
            Abs::Bool(Word::Imm(imm)) => self.text(if imm != 0 { b"true" } else { b"false" }),
            Abs::Int(Word::Imm(imm)) => self.text(imm.to_string().as_bytes()),
            Abs::Float(Word::Imm(bits)) => self.text(float_text(float_of(bits)).as_bytes()),
            Abs::Str(Str::Const(text)) => self.text(&text),
            value => self.argument("%s", value),
        }
        Ok(())
    }
}

/// The value as an argument that records have a form for: packets become their bytes.
fn sendable(context: &mut Context<'_>, value: &Abs) -> Result<Abs> {
    match value {
        Abs::Object(object) => Ok(Abs::Str(object_text(context, object)?)),
        Abs::Structure { .. } => Ok(Abs::Str(text_of(context, value)?)),
        Abs::Union(union) => {
            let has_text = |context: &Context<'_>, variant: &Variant| match variant {
                Variant::Object(id) => {
                    matches!(context.known.objects.get(*id), Some(Object::Text(_)))
                }
                Variant::Structure(_) => false,
                _ => true,
            };
            if union.variants.iter().all(|variant| has_text(context, variant)) {
                return Ok(value.clone());
            }
            context.dispatch_one(value, &mut |context, value| sendable(context, &value))
        }
        value => Ok(value.clone()),
    }
}

fn print(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    print_with(context, &call.args, None)
}

/// Prints the values and then, if it is given, the text of a call of `string.format`.
pub fn print_with(context: &mut Context<'_>, values: &[Abs], formatted: Option<&Call>) -> Result<Vec<Arm>> {
    let mut line = Line::default();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            line.text(b"\t");
        }
        line.value(context, value)?;
    }
    if let Some(call) = formatted {
        if !values.is_empty() {
            line.text(b"\t");
        }
        if !format::append(context, call, &mut line)? {
            return Ok(vec![]);
        }
    }
    context.print(line.pieces, &line.arguments)?;
    returns(context, vec![])
}
