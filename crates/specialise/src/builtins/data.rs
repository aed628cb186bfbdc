//! Methods of packets by offset, each as its row says (docs/packet.md).

use super::call::{Call, Row, refuse, returns, row, rows};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::same::note_read;
use crate::state::State;
use crate::value::{ARGUMENT_SIZE, Abs, Object, Space, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, Size, UnaryOp};
use moonhook_library::own::Width;
use moonhook_library::own::data::{ACCESSES, Access, HANDLED, PEEKS, POKES, WRITABLE, access, of_object};
use moonhook_packet::protocols::payload_offset;
use moonhook_packet::{Access as _, MAX_FRAME, READABLE};

pub const ROWS: &[Row] = &rows(ACCESSES, method);

/// What objects of the module `data` ask of packets.
pub const OF_OBJECTS: [&[Row]; 3] =
    [&rows(PEEKS, peek), &rows(POKES, poke), &[row(WRITABLE, writable), row(HANDLED, handled)]];

fn method(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match access(call.name) {
        Some(Access::Read { width, signed }) => get(context, call, size_of(width), signed),
        Some(Access::Write { width }) => set(context, call, size_of(width)),
        Some(Access::ReadText) => get_string(context, call),
        Some(Access::WriteText) => set_string(context, call),
        None => refuse(context, call),
    }
}

pub fn size_of(width: Width) -> Size {
    match width {
        Width::B1 => Size::B1,
        Width::B2 => Size::B2,
        Width::B4 => Size::B4,
        Width::B8 => Size::B8,
    }
}

/// Which object the method is called on; an error otherwise.
pub fn subject(context: &mut Context<'_>, call: &Call) -> Option<Object> {
    match call.arg(1) {
        Abs::Object(object @ (Object::Packet | Object::Argument)) => Some(object),
        _ => {
            call.wrong_type(context, 1, "data");
            None
        }
    }
}

/// The object of a method that writes.
pub fn writable_subject(context: &mut Context<'_>, call: &Call) -> Option<Object> {
    let object = subject(context, call)?;
    check_writable(context, call, &object);
    context.state.alive().then_some(object)
}

/// Fails unless the object can be written.
fn check_writable(context: &mut Context<'_>, call: &Call, object: &Object) {
    if context.state.alive() && (*object == Object::Argument || !context.target.hook.can_write()) {
        call.argument_error(context, 1, "read only");
    }
}

fn out_of_bounds(context: &mut Context<'_>, call: &Call) {
    call.argument_error(context, 2, "out of bounds");
}

fn get(context: &mut Context<'_>, call: &Call, size: Size, signed: bool) -> Result<Vec<Arm>> {
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    let offset = call.integer(context, 2)?;
    if object == Object::Argument {
        return get_argument(context, call, offset, size, signed);
    }
    let (address, outside) = context.locate(offset, size as u32)?;
    context.fail_in(outside, |context| {
        context.check_outside(offset, size as u32);
        out_of_bounds(context, call);
        Ok(())
    })?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let value = context.load_at(address, size, signed);
    note_read(&mut context.code.same, call.name, offset, &Abs::Int(value));
    context.only(Abs::Int(value))
}

fn get_argument(
    context: &mut Context<'_>,
    call: &Call,
    offset: Word,
    size: Size,
    signed: bool,
) -> Result<Vec<Arm>> {
    if let Some(at) = context.given_argument()? {
        let value = context.load_given(at, (offset, size, signed), |context| out_of_bounds(context, call));
        return value.map_or(Ok(vec![]), |value| context.only(Abs::Int(value)));
    }
    let limit = ARGUMENT_SIZE - size as i64;
    let outside = if limit < 0 {
        moonhook_ir::words::Cond::Known(true)
    } else {
        context.compare(CompareOp::UGt, offset, limit)
    };
    context.fail_if(outside, |context| out_of_bounds(context, call));
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let value = argument_from(context, offset)?;
    let value = context.and(value, if size == Size::B1 { 0xff } else { 0xffff });
    let value = match (size, signed) {
        (Size::B1, true) => context.unary(UnaryOp::SignExtend8, value),
        (_, true) => context.unary(UnaryOp::SignExtend16, value),
        _ => value,
    };
    context.only(Abs::Int(value))
}

/// `length` bytes of the handler's second argument from `offset` on, which are there.
pub fn argument_text(context: &mut Context<'_>, offset: Word, length: Word) -> Result<Str> {
    if let Some(at) = context.given_argument()? {
        return context.text_given(at, (offset, length));
    }
    let bytes = argument_from(context, offset)?;
    context.bytes_text(bytes, length)
}

/// The handler's second argument where C does not give it, the first byte lowest: the payload's offset, big-endian.
fn argument_bytes(context: &mut Context<'_>) -> Result<Word> {
    let payload = payload_offset(context)?;
    Ok(context.unary(UnaryOp::Swap16, payload))
}

/// The argument's bytes from `offset` on, the first one lowest.
pub fn argument_from(context: &mut Context<'_>, offset: Word) -> Result<Word> {
    let bytes = argument_bytes(context)?;
    let shift = context.shl(offset, 3);
    Ok(context.shr(bytes, shift))
}

/// Checks in Lunatik's order: the object, the offset and its bounds, whether it can be written, the value.
fn set(context: &mut Context<'_>, call: &Call, size: Size) -> Result<Vec<Arm>> {
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    let offset = call.integer(context, 2)?;
    if object == Object::Argument {
        let length = context.argument_length()?;
        check_within(context, call, offset, Word::Imm(size as i64), length)?;
        check_writable(context, call, &object);
        return Ok(vec![]);
    }
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let (address, outside) = context.locate(offset, size as u32)?;
    context.fail_in(outside, |context| {
        context.check_outside(offset, size as u32);
        out_of_bounds(context, call);
        Ok(())
    })?;
    check_writable(context, call, &object);
    let value = call.integer(context, 3)?;
    if context.state.alive() {
        context.before_packet_write()?;
        context.write_word(address, offset, size, value);
        context.packet_written();
    }
    returns(context, vec![])
}

/// An integer that is there, or nil.
fn peek(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some((width, _)) = of_object(call.name) else { return refuse(context, call) };
    if subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let offset = call.integer(context, 2)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let size = size_of(width);
    let (address, outside) = context.locate(offset, size as u32)?;
    let mut arms = Vec::new();
    if context.state.alive() {
        let value = Abs::Int(context.load_at(address, size, width == Width::B8));
        note_read(&mut context.code.same, call.name, offset, &value);
        arms.extend(returns(context, vec![value])?);
    }
    arms.extend(none_outside(context, outside, (offset, size), Abs::Nil)?);
    Ok(arms)
}

/// Where an integer is not there, `value` is what there is instead.
fn none_outside(
    context: &mut Context<'_>,
    outside: Vec<State>,
    (offset, size): (Word, Size),
    value: Abs,
) -> Result<Option<Arm>> {
    context.enter(outside)?;
    if context.state.alive() {
        context.check_outside(offset, size as u32);
    }
    let state = context.take_state();
    Ok(state.alive().then(|| Arm { state, values: vec![value] }))
}

/// Writes an integer where its bytes are there.
fn poke(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some((width, _)) = of_object(call.name) else { return refuse(context, call) };
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    let (offset, value) = (call.integer(context, 2)?, call.integer(context, 3)?);
    if !context.state.alive() {
        return Ok(vec![]);
    }
    if object == Object::Argument || !context.target.hook.can_write() {
        return returns(context, vec![]);
    }
    let size = size_of(width);
    let (address, outside) = context.locate(offset, size as u32)?;
    let mut arms = Vec::new();
    if context.state.alive() {
        context.before_packet_write()?;
        context.write_word(address, offset, size, value);
        context.packet_written();
        arms.extend(returns(context, vec![])?);
    }
    arms.extend(none_outside(context, outside, (offset, size), Abs::Nil)?);
    Ok(arms)
}

fn writable(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    context.only(Abs::bool(object == Object::Packet && context.target.hook.can_write()))
}

/// Packet code is nowhere else.
fn handled(context: &mut Context<'_>, _: &Call) -> Result<Vec<Arm>> {
    context.only(Abs::TRUE)
}

/// How many bytes the object has.
fn length_of(context: &mut Context<'_>, object: &Object) -> Result<Word> {
    match object {
        Object::Argument => context.argument_length(),
        _ => Ok(context.packet_length()),
    }
}

/// The length that is the third argument, or all that follows the offset; goes on where so many bytes are there.
pub fn length_from(context: &mut Context<'_>, call: &Call, object: &Object, offset: Word) -> Result<Word> {
    let size = length_of(context, object)?;
    let rest = context.sub(size, offset);
    let length = call.integer_or(context, 3, rest)?;
    check_not_empty(context, call, length);
    check_within(context, call, offset, length, size)?;
    Ok(length)
}

/// Fails where a text has no bytes, if the scripts understand that as out of bounds.
fn check_not_empty(context: &mut Context<'_>, call: &Call, length: Word) {
    if context.snapshot.empty_texts_are_outside {
        let empty = context.compare(CompareOp::Eq, length, 0);
        context.fail_if(empty, |context| out_of_bounds(context, call));
    }
}

/// `getstring(offset [, length])`.
fn get_string(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    let offset = call.integer(context, 2)?;
    let length = length_from(context, call, &object, offset)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let text = match object {
        Object::Argument => argument_text(context, offset, length)?,
        _ => Str::Slice { space: Space::Packet, start: offset, length },
    };
    context.only(Abs::Str(text))
}

/// Fails unless `offset .. offset + length` lies within `size` bytes, and can be read.
fn check_within(
    context: &mut Context<'_>,
    call: &Call,
    offset: Word,
    length: Word,
    size: Word,
) -> Result<()> {
    let mut far = Vec::new();
    for word in [offset, length] {
        let is_far = context.compare(CompareOp::UGt, word, MAX_FRAME);
        context.leave_if(is_far, &mut far);
    }
    check_end(context, call, offset, length, size);
    let is_long = !context.range(size).within(0, READABLE);
    context.fail_in(far, |context| {
        if is_long {
            for word in [offset, length] {
                let wrong = context.compare(CompareOp::UGt, word, size);
                context.fail_if(wrong, |context| out_of_bounds(context, call));
            }
            check_end(context, call, offset, length, size);
        }
        out_of_bounds(context, call);
        Ok(())
    })
}

/// Fails unless `offset + length`, which does not overflow, lies within `size` bytes and can be read.
fn check_end(context: &mut Context<'_>, call: &Call, offset: Word, length: Word, size: Word) {
    let end = context.add(offset, length);
    let wrong = context.compare(CompareOp::SGt, end, size);
    context.fail_if(wrong, |context| out_of_bounds(context, call));
    if !context.range(size).within(0, READABLE) {
        context.check_readable(end);
    }
}

fn set_string(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(object) = subject(context, call) else { return Ok(vec![]) };
    let offset = call.integer(context, 2)?;
    let Some(text) = call.string(context, 3)? else { return Ok(vec![]) };
    let (space, start, length) = context.slice(&text)?;
    let size = length_of(context, &object)?;
    check_not_empty(context, call, length);
    check_within(context, call, offset, length, size)?;
    check_writable(context, call, &object);
    if !context.state.alive() {
        return Ok(vec![]);
    }
    // Source and destination may overlap, so packet bytes are copied first.
    let text = match space {
        Space::Packet => context.copied(Str::Slice { space, start, length })?,
        _ => text,
    };
    let (space, start, length) = context.slice(&text)?;
    context.before_packet_write()?;
    context.write_packet(offset, crate::strings::Slice::plain(space, start, length))?;
    context.packet_written();
    returns(context, vec![])
}
