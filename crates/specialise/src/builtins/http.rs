//! `pkt.http:header(name)`: the value of a field of an HTTP message.

use super::call::{Call, Row, row};
use crate::context::{Context, Result};
use crate::field_values;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Object, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_library::own::http::HEADER;
use moonhook_packet::Access;
use moonhook_packet::protocols::{HttpSplit, http_field, http_has_name};

pub const ROWS: &[Row] = &[row(HEADER, header)];

/// Names of so many bytes at most are compared a word at a time.
const SHORT: usize = 64;

fn header(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.arg(1) != Abs::Object(Object::Header("http")) {
        call.wrong_type(context, 1, "http");
        return Ok(vec![]);
    }
    let Some(name) = call.string(context, 2)? else { return Ok(vec![]) };
    let paths = match &name {
        Str::Const(name) if name.len() <= SHORT => {
            let lower = name.to_ascii_lowercase();
            let mut matches = |context: &mut Context<'_>, line: Word| http_has_name(context, line, &lower);
            http_field(context, Word::Imm(name.len() as i64), &mut matches)?
        }
        name => {
            let name = context.slice_of(name)?;
            let mut matches = |context: &mut Context<'_>, line: Word| has_name(context, line, name);
            http_field(context, name.length, &mut matches)?
        }
    };
    field_values::arms(context, paths)
}

/// Whether the line starts with a name, in upper or lower case, and a colon.
fn has_name<'a>(context: &mut Context<'a>, line: Word, name: Slice) -> HttpSplit<Context<'a>> {
    let end = context.add(line, name.length);
    let (colon, mut others) = context.locate(end, 1)?;
    let colon = context.load_at(colon, moonhook_ir::Size::B1, false);
    let other = context.compare_apart(CompareOp::Ne, colon, i64::from(b':'));
    context.leave_if(other, &mut others);
    let exits = context.repeat(&[Word::Imm(0)], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let at = variables[0];
        let over = context.compare(CompareOp::SGe, at, name.length);
        let (over, within) = context.split(over);
        iteration.leave_in(over, vec![]);
        context.state = within;
        let wanted = context.byte_at(name, at)?;
        let place = context.add(line, at);
        let found = context.known_address(place, 1)?;
        let found = context.load_at(found, moonhook_ir::Size::B1, false);
        let [wanted, found] = [wanted, found].map(|byte| lower(context, byte));
        let other = context.compare_apart(CompareOp::Ne, wanted, found);
        let (other, same) = context.split(other);
        iteration.leave_in(other, vec![Abs::Nil]);
        context.state = same;
        let next = context.add(at, 1);
        iteration.again(context, vec![next]);
        Ok(iteration)
    })?;
    let mut same = Vec::new();
    for arm in exits {
        if arm.values.is_empty() { same.push(arm.state) } else { others.push(arm.state) }
    }
    Ok((same, others))
}

/// A byte, of an upper-case letter the lower-case one.
fn lower(context: &mut Context<'_>, byte: Word) -> Word {
    let letter = context.sub(byte, i64::from(b'A'));
    let is_upper = context.compare(CompareOp::ULt, letter, 26);
    let is_upper = context.condition_word(is_upper);
    let case = context.shl(is_upper, 5);
    context.add(byte, case)
}
