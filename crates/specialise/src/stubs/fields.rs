//! Packets, the second argument and headers as general code uses them: fields and length.

use super::shared::given::Given;
use super::traced::store_arms;
use super::{Stubs, is_large, objects, with_context, without_context};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Object, Word};
use crate::{field_writes, given, meta, objects};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_packet::{Access, MAX_FRAME, Scattered, Takes};
use moonhook_runtime::layout::{OBJECT_ARGUMENT, OBJECT_PACKET};
use moonhook_schema::Type;

impl Stubs<'_> {
    /// `(ctx, L, object, out) -> 0 | FAIL`: stores field `name` of an object (the payload of its value) at `out`. Methods
    /// are builtins. An error where the object has no such field. `None` if no object has one.
    pub fn field(&mut self, name: &[u8]) -> Result<Option<FunctionId>> {
        let is_left_out = is_large(name) && !self.host.is_spelled(name);
        let is_of_note = self.host.notes().is_assigned(name);
        if is_left_out || !is_of_note && !objects().any(|(_, object)| objects::has_field(&object, name)) {
            return Ok(None);
        }
        let missing = self.missing_field("")?;
        let title = format!("field_{}", String::from_utf8_lossy(name));
        // Records have nothing under names that nobody assigns.
        let has = |object: &Object, name: &[u8]| *object == meta::OBJECT || objects::has_field(object, name);
        self.of_objects(&title, name, missing, has, read_field).map(Some)
    }

    /// `(ctx, L, object, value) -> 0 | FAIL`: assigns the value at an address to field `name` of an object (the payload of its value). An
    /// error where the object has no such field, or cannot take the value. `None` if no object has one.
    pub fn assignment(&mut self, name: &[u8]) -> Result<Option<FunctionId>> {
        let notes = self.host.notes();
        if !notes.is_assigned(name) && !field_writes::is_assigned(name) {
            return Ok(None);
        }
        let missing = self.missing_field(field_writes::THAT_CAN_BE)?;
        let title = format!("assign_{}", String::from_utf8_lossy(name));
        let has = |object: &Object, name: &[u8]| match *object == meta::OBJECT {
            true => notes.is_assigned(name),
            false => field_writes::has_assigned(object, name),
        };
        self.of_objects(&title, name, missing, has, assign_field).map(Some)
    }

    /// `(ctx, L, object, place) -> 0 | FAIL`: does `access`, which ends the state, for each object that has a field of that name as `has` says;
    /// `missing` raises the error for the others.
    fn of_objects(
        &mut self,
        title: &str,
        name: &[u8],
        missing: FunctionId,
        has: impl Fn(&Object, &[u8]) -> bool,
        access: fn(&mut Context<'_>, &Object, &[u8], Word) -> Result<()>,
    ) -> Result<FunctionId> {
        self.make(title, with_context(2), |context, parameters| {
            let &[object, place] = parameters else { return Ok(()) };
            context.on_frame(&mut |context| {
                // What the script saw of the packet may no longer hold.
                context.state.facts.packet.written = true;
                let objects = context.objects_with(name).into_iter();
                for (payload, known) in objects.filter(|(_, known)| has(known, name)) {
                    let is = context.compare(CompareOp::Eq, object, payload);
                    let (is, other) = context.split(is);
                    context.state = is;
                    access(context, &known, name, place)?;
                    context.state = other;
                }
                let state = context.state_address();
                let key = Word::Imm(context.image_string(name));
                let failed = context.call_function(missing, &[state, object, key]);
                context.give(failed);
                Ok(())
            })
        })
    }

    /// `(L, object, key) -> FAIL`: raises the error that the object has no field `key`, the payload of a string; `end` ends its message.
    pub fn missing_field(&mut self, end: &'static str) -> Result<FunctionId> {
        let name = if end.is_empty() { "missing_field" } else { "unassigned_field" };
        self.make(name, without_context(2), |context, parameters| {
            let &[object, key] = parameters else { return Ok(()) };
            if !end.is_empty() {
                context.refuse_read_only(object);
            }
            let mut owners = Vec::new();
            for (payload, known) in context.objects() {
                let is = context.compare(CompareOp::Eq, object, payload);
                let (is, other) = context.split(is);
                let owner = context.image_string(objects::owner(&known).as_bytes());
                owners.push(Arm { state: is, values: vec![Abs::int(owner)] });
                context.state = other;
            }
            let owner = context.image_string(b"object");
            owners.push(Arm { state: context.take_state(), values: vec![Abs::int(owner)] });
            let owner = context.join_word(owners)?;
            let [owner, key] = [owner, key].map(|word| Abs::Str(text_of_payload(context, word)));
            let parts =
                [Abs::text("'"), owner, Abs::text("' has no field '"), key, Abs::text(format!("'{end}"))];
            let text = context.concatenate(&parts)?;
            context.raise_text(&text, true)
        })
    }

    /// `(ctx, L, object, out) -> 0 | FAIL`: stores an object's length (`#`) at `out`.
    pub fn length(&mut self) -> Result<FunctionId> {
        self.make("object_length", with_context(2), |context, parameters| {
            let &[object, out] = parameters else { return Ok(()) };
            context.on_frame(&mut |context| {
                let is = context.compare(CompareOp::Eq, object, OBJECT_PACKET);
                let (packet, other) = context.split(is);
                context.state = packet;
                let length = context.packet_length();
                store_and_leave(context, out, &Abs::Int(length))?;
                context.state = other;
                let is = context.compare(CompareOp::Eq, object, OBJECT_ARGUMENT);
                let (argument, header) = context.split(is);
                context.state = argument;
                let length = context.argument_length()?;
                store_and_leave(context, out, &Abs::Int(length))?;
                context.state = header;
                context.fail(Message::new("attempt to get length of a header value"));
                Ok(())
            })
        })
    }

    /// `(ctx, L) -> 0 | FAIL`: puts the packet where the other stubs look for it, all of it: one that lies in several buffers, or that has no
    /// addresses, is copied.
    /// Where [`Stubs::prepares`] says so, it must be called for each packet before any other stub.
    pub fn prepare(&mut self) -> Result<FunctionId> {
        self.make("prepare_packet", with_context(0), |context, _| {
            context.keep_note()?;
            context.pull_packet()?;
            if let Some(reader) = context.target.hook.copied() {
                context.copy_frame(reader, false)?;
            }
            if let Some(buffers) = context.target.takes_scattered(context.options) {
                let scattered = context.split_scattered(buffers)?;
                context.give(0);
                context.state = scattered;
                context.copy_frame(buffers.reader, false)?;
            }
            context.give(0);
            Ok(())
        })
    }

    /// Whether packets of the program have to be prepared.
    pub fn prepares(&self) -> bool {
        let hook = self.program.0;
        !hook.is_trace()
            && (hook.pull().is_some()
                || hook.copied().is_some()
                || self.options.frags && hook.buffers().is_some())
    }
}

impl Context<'_> {
    /// Goes on with objects other than headers of packets that can only be read, whatever the field is that is to be assigned.
    fn refuse_read_only(&mut self, object: Word) {
        let is_refused = |known: &Object| field_writes::is_read_only(self, known);
        let refused: Vec<i64> = self
            .objects()
            .into_iter()
            .filter(|(_, known)| is_refused(known))
            .map(|(payload, _)| payload)
            .collect();
        for payload in refused {
            let is = self.compare(CompareOp::Eq, object, payload);
            self.fail_if(is, |context| context.fail(Message::new(field_writes::READ_ONLY)));
        }
    }
}

pub(super) fn store_and_leave(context: &mut Context<'_>, out: Word, value: &Abs) -> Result<()> {
    context.store_value(out, value)?;
    context.give(0);
    Ok(())
}

/// Stores a field that the object has, in the current state, which ends.
fn read_field(context: &mut Context<'_>, object: &Object, name: &[u8], out: Word) -> Result<()> {
    let arms = objects::field(context, object, name)?;
    store_arms(context, arms, out)
}

/// Assigns what is at an address to a field that the object has, in the current state, which ends.
fn assign_field(context: &mut Context<'_>, object: &Object, name: &[u8], place: Word) -> Result<()> {
    if field_writes::is_read_only(context, object) {
        context.fail(Message::new(field_writes::READ_ONLY));
        return Ok(());
    }
    if *object == meta::OBJECT {
        return context.assign_field_of_note(name, place);
    }
    let text = String::from_utf8_lossy(name).into_owned();
    let protocol = field_writes::protocol_of(object, &text);
    let assignment =
        protocol.as_ref().and_then(|protocol| field_writes::assignment(context, object, protocol, &text));
    let (Some(protocol), Some(assignment)) = (&protocol, assignment) else {
        context.fail(Message::new(field_writes::none_to_assign(object, &text)));
        return Ok(());
    };
    if assignment.takes == Takes::Integer && context.known.notes.is_used() {
        context.assign_note_table(place)?;
    }
    let ty = match assignment.takes {
        Takes::Number(_) | Takes::Integer => Type::Integer,
        Takes::Flag => Type::Boolean,
        Takes::Mac => Type::Mac,
        Takes::Address => Type::Address,
        Takes::Ipv4 => Type::Ipv4,
        Takes::Text => Type::Text { capacity: MAX_FRAME as u16 },
    };
    let Given { fits, nil, mut others, too_long, .. } = context.given(place, &ty)?;
    context.fail_length(too_long, true)?;
    for arm in fits {
        context.state = arm.state;
        let value = arm.values.into_iter().next().unwrap_or(Abs::Nil);
        if let (Takes::Text, Abs::Str(given)) = (assignment.takes, &value) {
            field_writes::write_text(context, protocol, (assignment, &text), given)?;
            context.give(0);
        } else if let Some(given) = given::given(context, assignment.takes, &value)? {
            field_writes::write(context, protocol, (assignment, &text), given)?;
            context.give(0);
        }
    }
    others.push(nil);
    context.fail_in(others, |context| {
        context.fail(Message::new(field_writes::unfit(assignment.takes, &text)));
        Ok(())
    })
}
