//! What stands outside of chains: what maps begin with, and where loaders are attached.

use super::{Names, Result, constant};
use crate::ast::{self, Expression, ExpressionKind, Script, Source, Unary};
use crate::error::CheckErrorKind;
use crate::tree::{Attachment, Contents, Datum, Mode};

pub fn contents(script: &Script, names: &Names<'_>) -> Result<Vec<Contents>> {
    let of_one = |contents: &ast::Contents| {
        let program = names
            .program(&contents.owner)
            .ok_or_else(|| CheckErrorKind::Unknown { name: contents.owner.clone() }.at(contents.at))?;
        let mut entries = Vec::new();
        for [key, value] in &contents.entries {
            entries.push([data(names, key)?, data(names, value)?]);
        }
        let place = |[key, _]: &[Vec<Expression>; 2]| key.first().map_or(contents.at, |part| part.at);
        let places = contents.entries.iter().map(place).collect();
        Ok(Contents { program, map: contents.map.clone(), entries, places, at: contents.at })
    };
    script.contents.iter().map(of_one).collect()
}

pub fn attachments(script: &Script, names: &Names<'_>) -> Result<Vec<Attachment>> {
    let of_one = |attachment: &ast::Attachment| {
        let ast::Attachment { loader, device, mode, at } = attachment;
        let name = loader.clone();
        let program = names.program(loader).ok_or(CheckErrorKind::Unknown { name: name.clone() }.at(*at))?;
        if names.programs[program].source != Source::Loaders {
            return Err(CheckErrorKind::NoLoader { name }.at(*at));
        }
        let mode = match mode.as_str() {
            "xdp" => Mode::Any,
            "xdpgeneric" => Mode::Generic,
            "xdpdrv" => Mode::Driver,
            "xdpoffload" => Mode::Offload,
            _ => return Err(CheckErrorKind::NoMode { mode: mode.clone() }.at(*at)),
        };
        Ok(Attachment { program, device: device.clone(), mode, at: *at })
    };
    script.attachments.iter().map(of_one).collect()
}

fn data(names: &Names<'_>, parts: &[Expression]) -> Result<Vec<Datum>> {
    parts.iter().map(|part| datum(names, part)).collect()
}

fn datum(names: &Names<'_>, part: &Expression) -> Result<Datum> {
    Ok(match &part.kind {
        ExpressionKind::Number { value, .. } => Datum::Number(*value),
        ExpressionKind::Boolean(value) => Datum::Number((*value).into()),
        ExpressionKind::Text(text) => Datum::Text(text.clone()),
        ExpressionKind::Unary { operator, operand } => match (operator, datum(names, operand)?) {
            (Unary::Negate, Datum::Number(number)) => Datum::Number(number.wrapping_neg()),
            (Unary::Complement, Datum::Number(number)) => Datum::Number(!number),
            _ => return Err(CheckErrorKind::NoConstant.at(part.at)),
        },
        ExpressionKind::Name(name) => {
            match (names.chains.get(name.as_str()), names.constants.get(name.as_str())) {
                (Some((number, _)), _) => Datum::Chain(*number),
                // A constant is made of no other constant.
                (None, Some(value)) => datum(names, constant(value)?)?,
                (None, None) => return Err(CheckErrorKind::Unknown { name: name.clone() }.at(part.at)),
            }
        }
        _ => return Err(CheckErrorKind::NoConstant.at(part.at)),
    })
}
