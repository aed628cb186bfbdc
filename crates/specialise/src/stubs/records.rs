//! Event records of general code: printed lines, and errors with a traceback that is known at packet time only.

use super::{Stubs, with_context, without_context};
use crate::arena;
use crate::arguments::record_address;
use crate::builtins::event::VALUES;
use crate::context::{Context, Result};
use crate::events::NO_MEMORY;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::region::{RECORD_HEADER, RECORD_MAX};
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{ArgumentKind, CompareOp, EventKind, FunctionId, Piece, Size};
use moonhook_library::own::flow::FUNCTION_FAILED;
use moonhook_runtime::layout::{
    L_ERROR, L_TRACE, T_COUNT, TAG_FALSE, TAG_FLOAT, TAG_INT, TAG_NIL, TAG_STRING, TAG_TABLE, TAG_TRUE,
    VALUE_SIZE,
};

/// Where the message of an error ends in its record at the latest, and the calls of the traceback.
const MESSAGE_END: i64 = RECORD_MAX - TRACEBACK_SIZE;
const TRACEBACK_SIZE: i64 = 4096;
/// Bytes of a call's name that are sent, and of the whole call: two integers and a string, each with its tag.
const NAME_SIZE: i64 = 128;
const CALL_SIZE: i64 = 16 + 16 + 16 + NAME_SIZE;
/// Bytes of an argument that is a number, or of a string's tag and length.
const ARGUMENT_SIZE: i64 = 16;
/// Bytes of a call in arena memory.
const FRAME_SIZE: i64 = 32;

impl Stubs<'_> {
    /// `(ctx, L) -> 0`: sends and counts the error that nothing caught, the string at `L_ERROR`, with the traceback at
    /// `L_TRACE`: a `u64` count, then, innermost first, 32 bytes for each call: index of the source, line, the payload of
    /// what the function is called, nothing.
    pub fn error(&mut self) -> Result<FunctionId> {
        self.make("emit_error", with_context(0), |context, _| {
            let [error, calls] = [L_ERROR, L_TRACE].map(|field| {
                let field = context.add(context.state_address(), field);
                arena::load(context, field)
            });
            context.tell_failure()?;
            if !context.snapshot.flows.is_empty() {
                let sent = Word::Imm(context.image_string(FUNCTION_FAILED.as_bytes()));
                let is_sent = context.compare(CompareOp::Eq, error, sent);
                context.fail_if(is_sent, |context| context.give(0));
            }
            let id = context.event(EventKind::Raised, vec![Piece::Argument("%s".into())], false);
            context.count_event(id);
            let record = context.start_record(id)?;
            let error = text_of_payload(context, error);
            let at = context.put_string(record, Word::Imm(RECORD_HEADER), &error, MESSAGE_END)?;
            let at = put_calls(context, record, at, calls)?;
            context.send_record(record, at)?;
            context.give(0);
            Ok(())
        })
    }

    /// `(ctx, anything) -> 0`: sends and counts the error that a CPU has no memory, and uses none.
    pub fn no_memory(&mut self) -> Result<FunctionId> {
        self.make("no_memory", with_context(0), |context, _| {
            let id = context.event(EventKind::Error, vec![Piece::Text(NO_MEMORY.as_bytes().to_vec())], false);
            context.count_event(id);
            context.tell_failure()?;
            let id = context.value(Word::Imm(i64::from(id)));
            context.send_bare(id)?;
            context.give(0);
            Ok(())
        })
    }

    /// `(L, verdict) -> 0`: counts a verdict, if [`crate::Options::count_verdicts`] says so.
    pub fn count_verdict(&mut self) -> Result<FunctionId> {
        self.make("count_verdict", without_context(1), |context, parameters| {
            if let (true, &[verdict]) = (context.options.count_verdicts, parameters) {
                context.count_verdict(verdict);
            }
            context.give(0);
            Ok(())
        })
    }
}

/// Prints strings: `n` values from `base` on, with tabs between them. No results.
pub(super) fn print(context: &mut Context<'_>, parameters: &[Word]) -> Result<()> {
    let &[base, count] = parameters else { return Ok(()) };
    let id = context.event(EventKind::Print, vec![Piece::Argument("%s".into())], true);
    let record = context.start_record(id)?;
    let at = put_line(context, record, base, count)?;
    context.send_record(record, at)?;
    context.give(0);
    Ok(())
}

/// Sends an event: `n` values from `base` on, of which the first is its name. A list of names among them is the beginning of
/// a record: names and values of its fields follow. No results.
pub(super) fn event(context: &mut Context<'_>, parameters: &[Word]) -> Result<()> {
    let &[base, count] = parameters else { return Ok(()) };
    let Some(name) = context.string_argument(1)? else { return Ok(()) };
    let id = context.event(EventKind::Event, vec![], true);
    let record = context.start_record(id)?;
    let at = context.put_argument(record, Word::Imm(RECORD_HEADER), &Abs::Str(name))?;
    let arms = context.repeat(&[Word::Imm(1), at], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (index, at) = (variables[0], variables[1]);
        for over in [
            context.compare(CompareOp::SGe, index, count),
            context.compare(CompareOp::SGt, at, RECORD_MAX - ARGUMENT_SIZE),
        ] {
            let (over, more) = context.split(over);
            iteration.leave_in(over, vec![Abs::Int(at)]);
            context.state = more;
        }
        let at = put_value(context, record, [base, count, index], at)?;
        let index = context.add(index, 1);
        iteration.again(context, vec![index, at]);
        Ok(iteration)
    })?;
    let end = joined(context, arms)?;
    let end = context.unknown(end);
    context.send_record(record, end)?;
    context.give(0);
    Ok(())
}

/// Puts value number `index` of `count` from `base` on into the record; an error if events cannot carry it.
fn put_value(
    context: &mut Context<'_>,
    record: ir::Value,
    [base, count, index]: [Word; 3],
    at: Word,
) -> Result<Word> {
    let offset = context.binary(ir::BinaryOp::Mul, index, VALUE_SIZE);
    let address = context.add(base, offset);
    let tag = arena::load(context, address);
    let mut arms = Vec::new();
    for known in [TAG_NIL, TAG_FALSE, TAG_TRUE, TAG_INT, TAG_FLOAT, TAG_STRING, TAG_TABLE] {
        let is = context.compare(CompareOp::Eq, tag, known);
        let (is, other) = context.split(is);
        context.state = is;
        let payload = context.add(address, 8);
        let value = match known {
            TAG_NIL => Abs::Nil,
            TAG_FALSE => Abs::Bool(Word::Imm(0)),
            TAG_TRUE => Abs::Bool(Word::Imm(1)),
            TAG_STRING => {
                let payload = arena::load(context, payload);
                Abs::Str(text_of_payload(context, payload))
            }
            TAG_FLOAT => Abs::Float(arena::load(context, payload)),
            _ => Abs::Int(arena::load(context, payload)),
        };
        let after = match (known, &value) {
            (TAG_TABLE, Abs::Int(names)) => put_record(context, record, *names, at)?,
            _ => context.put_argument(record, at, &value)?,
        };
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(after)] });
        context.state = other;
    }
    let number = context.add(index, 1);
    let expected = Word::Imm(context.image_string(VALUES.as_bytes()));
    context.raise_by("type_error", &[base, count, number, expected]);
    let after = joined(context, arms)?;
    Ok(context.unknown(after))
}

/// Begins a record that has the names in the list at `names`.
fn put_record(context: &mut Context<'_>, record: ir::Value, names: Word, at: Word) -> Result<Word> {
    let count = context.add(names, T_COUNT);
    let count = arena::load(context, count);
    let address = record_address(context, record, at)?;
    context.store(address.base, address.disp, Size::B8, ArgumentKind::Record as i64);
    context.store(address.base, address.disp + 8, Size::B8, count);
    Ok(context.add(at, ARGUMENT_SIZE))
}

/// A value in arena memory: the address of its payload.
fn payload_at(context: &mut Context<'_>, base: Word, index: Word) -> Word {
    let offset = context.binary(ir::BinaryOp::Mul, index, VALUE_SIZE);
    let address = context.add(base, offset);
    let address = context.add(address, 8);
    arena::load(context, address)
}

/// The single number that all paths out of a loop carry.
fn joined(context: &mut Context<'_>, arms: Vec<Arm>) -> Result<Word> {
    context.join_word(arms)
}

/// The record's only argument is the line, cut if it is too long; gives its end.
fn put_line(context: &mut Context<'_>, record: ir::Value, base: Word, count: Word) -> Result<Word> {
    let length = line_length(context, base, count)?;
    let start = RECORD_HEADER + 16;
    let room = Word::Imm(RECORD_MAX - start);
    let length = context.put_string_header(record, Word::Imm(RECORD_HEADER), length, room)?;
    let end = context.add(length, start);
    let arms = context.repeat(&[Word::Imm(0), Word::Imm(start)], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (index, at) = (variables[0], variables[1]);
        for over in
            [context.compare(CompareOp::SGe, index, count), context.compare(CompareOp::SGe, at, RECORD_MAX)]
        {
            let (over, more) = context.split(over);
            iteration.leave_in(over, vec![]);
            context.state = more;
        }
        let at = put_tab(context, record, index, at)?;
        let payload = payload_at(context, base, index);
        let Str::Slice { space, start, length } = text_of_payload(context, payload) else {
            return Ok(iteration);
        };
        let room = context.sub(RECORD_MAX, at);
        let length = context.minimum(length, room)?;
        context.copy_bytes(space, start, length, &mut |context, offset| {
            let place = context.add(at, offset);
            record_address(context, record, place)
        })?;
        let at = context.add(at, length);
        let index = context.add(index, 1);
        iteration.again(context, vec![index, at]);
        Ok(iteration)
    })?;
    context.join(arms)?;
    let padded = context.add(end, 7);
    let padded = context.and(padded, -8);
    Ok(context.unknown(padded))
}

/// Bytes of the strings and of the tabs between them.
fn line_length(context: &mut Context<'_>, base: Word, count: Word) -> Result<Word> {
    let arms = context.repeat(&[Word::Imm(0), Word::Imm(0)], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let (index, total) = (variables[0], variables[1]);
        let over = context.compare(CompareOp::SGe, index, count);
        let (over, more) = context.split(over);
        iteration.leave_in(over, vec![Abs::Int(total)]);
        context.state = more;
        let payload = payload_at(context, base, index);
        let length = context.shr(payload, 32);
        let total = context.add(total, length);
        let index = context.add(index, 1);
        let tabbed = context.compare(CompareOp::SLt, index, count);
        let tab = context.condition_word(tabbed);
        let total = context.add(total, tab);
        iteration.again(context, vec![index, total]);
        Ok(iteration)
    })?;
    joined(context, arms)
}

/// Puts a tab before all strings but the first; gives where the string goes.
fn put_tab(context: &mut Context<'_>, record: ir::Value, index: Word, at: Word) -> Result<Word> {
    let first = context.compare(CompareOp::Eq, index, 0);
    let (first, later) = context.split(first);
    context.state = later;
    let place = record_address(context, record, at)?;
    context.store(place.base, place.disp, Size::B1, i64::from(b'\t'));
    let after = context.add(at, 1);
    let later = context.take_state();
    context.either(first, at, later, after)
}

/// How many calls there are, and as many of them as there is room for; gives the end.
fn put_calls(context: &mut Context<'_>, record: ir::Value, at: Word, calls: Word) -> Result<Word> {
    let none = context.compare(CompareOp::Eq, calls, 0);
    let (none, some) = context.split(none);
    context.state = some;
    let count = arena::load(context, calls);
    let some = context.take_state();
    let count = context.either(none, Word::Imm(0), some, count)?;
    let at = context.put_argument(record, at, &Abs::Int(count))?;
    let first = context.add(calls, 8);
    let arms = context.repeat(&[count, first, at], &mut |context, variables| {
        let mut iteration = Iteration::default();
        let [left, call, at] = *variables else { return Ok(iteration) };
        for over in [
            context.compare(CompareOp::SLe, left, 0),
            context.compare(CompareOp::SGt, at, RECORD_MAX - CALL_SIZE),
        ] {
            let (over, more) = context.split(over);
            iteration.leave_in(over, vec![Abs::Int(at)]);
            context.state = more;
        }
        let source = arena::load(context, call);
        let after = context.put_argument(record, at, &Abs::Int(source))?;
        let line_at = context.add(call, 8);
        let line = arena::load(context, line_at);
        let after = context.put_argument(record, after, &Abs::Int(line))?;
        let name_at = context.add(call, 16);
        let name = arena::load(context, name_at);
        let Str::Slice { space, start, length } = text_of_payload(context, name) else {
            return Ok(iteration);
        };
        let length = context.minimum(length, Word::Imm(NAME_SIZE))?;
        let name = Str::Slice { space, start, length };
        let after = context.put_string(record, after, &name, RECORD_MAX)?;
        let (left, call) = (context.sub(left, 1), context.add(call, FRAME_SIZE));
        iteration.again(context, vec![left, call, after]);
        Ok(iteration)
    })?;
    let end = joined(context, arms)?;
    Ok(context.unknown(end))
}
