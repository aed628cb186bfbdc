//! `print` at packet time: an event whose text user space puts together.

use super::{Call, Row, returns};
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::value::{Abs, Object, Space, Str, Word};
use moonhook_ir::Piece;

pub const ROWS: &[Row] = &[Row { name: "print", any_type: true, emit: print }];

fn print(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let mut pieces = Vec::new();
    let mut arguments = Vec::new();
    for (index, value) in call.args.iter().enumerate() {
        if index > 0 {
            push_text(&mut pieces, b"\t");
        }
        match value {
            Abs::Nil => push_text(&mut pieces, b"nil"),
            Abs::Bool(Word::Imm(imm)) => push_text(&mut pieces, if *imm != 0 { b"true" } else { b"false" }),
            Abs::Int(Word::Imm(imm)) => push_text(&mut pieces, imm.to_string().as_bytes()),
            Abs::Str(Str::Const(text)) => push_text(&mut pieces, text),
            Abs::Object(Object::Packet) => {
                let length = context.packet_length();
                pieces.push(Piece::Argument("%s".into()));
                arguments.push(Abs::Str(Str::Slice { space: Space::Packet, start: Word::Imm(0), length }));
            }
            Abs::Float(_) | Abs::Object(_) => {
                let what = format!("printing a {}", value.type_name().unwrap_or("value"));
                return context.unsupported(what, "print integers, strings and booleans", Some("print"));
            }
            value => {
                pieces.push(Piece::Argument("%s".into()));
                arguments.push(value.clone());
            }
        }
    }
    context.print(pieces, &arguments)?;
    returns(context, vec![])
}

/// Appends literal text, to the last piece if that is text too.
pub fn push_text(pieces: &mut Vec<Piece>, text: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.extend_from_slice(text),
        _ => pieces.push(Piece::Text(text.to_vec())),
    }
}
