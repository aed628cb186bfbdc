//! Packets, the second argument and headers as general code uses them: fields and length.

use super::{Stubs, objects, with_context, without_context};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::objects;
use crate::value::{ARGUMENT_SIZE, Abs, Object, Word};
use moonhook_ir::words::{Branches, WayState, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_packet::{Access, Scattered};
use moonhook_runtime::layout::{OBJECT_ARGUMENT, OBJECT_PACKET};

impl Stubs<'_> {
    /// `(ctx, L, object, out) -> 0 | FAIL`: stores field `name` of an object (the payload of its value) at `out`. Methods
    /// are builtins. An error where the object has no such field. `None` if no object has one.
    pub fn field(&mut self, name: &[u8]) -> Result<Option<FunctionId>> {
        if !objects().any(|(_, object)| objects::has_field(&object, name)) {
            return Ok(None);
        }
        let missing = self.missing_field()?;
        let title = format!("field_{}", String::from_utf8_lossy(name));
        let body = |context: &mut Context<'_>, parameters: &[Word]| {
            let &[object, out] = parameters else { return Ok(()) };
            context.on_frame(&mut |context| {
                // What the script saw of the packet may no longer hold.
                context.state.facts.packet.written = true;
                for (payload, known) in objects().filter(|(_, known)| objects::has_field(known, name)) {
                    let is = context.compare(CompareOp::Eq, object, payload);
                    let (is, other) = context.split(is);
                    context.state = is;
                    read_field(context, &known, name, out)?;
                    context.state = other;
                }
                let state = context.state_address();
                let key = Word::Imm(context.image_string(name));
                let failed = context.call_function(missing, &[state, object, key]);
                context.give(failed);
                Ok(())
            })
        };
        self.make(&title, with_context(2), body).map(Some)
    }

    /// `(L, object, key) -> FAIL`: raises the error that the object has no field `key`, the payload of a string.
    pub fn missing_field(&mut self) -> Result<FunctionId> {
        self.make("missing_field", without_context(2), |context, parameters| {
            let &[object, key] = parameters else { return Ok(()) };
            let key = Abs::Str(context.text_of_payload(key));
            for (payload, known) in objects() {
                let is = context.compare(CompareOp::Eq, object, payload);
                let (is, other) = context.split(is);
                context.state = is;
                raise_missing(context, objects::owner(&known), &key)?;
                context.state = other;
            }
            raise_missing(context, "object", &key)
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
                store_and_leave(context, out, &Abs::int(ARGUMENT_SIZE))?;
                context.state = header;
                context.fail(Message::new("attempt to get length of a header value"));
                Ok(())
            })
        })
    }

    /// `(ctx, L) -> 0 | FAIL`: puts the packet where the other stubs look for it, all of it: one that lies in several buffers is copied.
    /// Where [`Stubs::prepares`] says so, it must be called for each packet before any other stub.
    pub fn prepare(&mut self) -> Result<FunctionId> {
        self.make("prepare_packet", with_context(0), |context, _| {
            context.pull_packet()?;
            if let Some(buffers) = context.takes_scattered() {
                let scattered = context.split_scattered(buffers);
                context.give(0);
                context.state = scattered;
                context.copy_frame(buffers)?;
            }
            context.give(0);
            Ok(())
        })
    }

    /// Whether packets of the program have to be prepared.
    pub fn prepares(&self) -> bool {
        let hook = self.program.0;
        hook.pull().is_some() || self.options.frags && hook.buffers().is_some()
    }
}

fn store_and_leave(context: &mut Context<'_>, out: Word, value: &Abs) -> Result<()> {
    context.store_value(out, value)?;
    context.give(0);
    Ok(())
}

/// Stores a field that the object has, in the current state, which ends.
fn read_field(context: &mut Context<'_>, object: &Object, name: &[u8], out: Word) -> Result<()> {
    for arm in objects::field(context, object, name)? {
        context.state = arm.state;
        if context.state.alive() {
            let value = arm.values.into_iter().next().unwrap_or(Abs::Nil);
            context
                .for_each_alternative(&value, &mut |context, value| store_and_leave(context, out, value))?;
        }
    }
    Ok(())
}

fn raise_missing(context: &mut Context<'_>, owner: &str, key: &Abs) -> Result<()> {
    let parts = [Abs::text(format!("'{owner}' has no field '")), key.clone(), Abs::text("'")];
    let text = context.concatenate(&parts)?;
    context.raise_text(&text, true)
}
