//! Functions of Moonhook's that are no part of Lua's standard library: methods of packets, `byteorder`, `linux`, and what the library's
//! own Lua code needs of the program.

use super::traced::refuse_text;
use super::{Stubs, objects, with_context};
use crate::arena;
use crate::builtins::own::{EVENT, PRINT, TEXT, own_row};
use crate::builtins::{self, call::Call, object_text};
use crate::context::{Context, Result};
use crate::value::{Abs, Object, Str, Word};
use moonhook_ir::FunctionId;
use moonhook_ir::words::PathState;
use moonhook_library::Library;
use moonhook_library::own::data::{ENCAP_PARTS, FIX_CHECKSUMS, HANDLED, OF_OBJECTS, ROUTE};
use moonhook_library::own::dns::{ANSWER_PARTS, HEADER, RECORD_PARTS};
use moonhook_library::own::{DATA, HTTP, bpf, copies, eclat, globals};
use moonhook_packet::protocols::inner;

impl Stubs<'_> {
    /// `(ctx, L, base, n) -> number of results | FAIL`: a call of the library function `name` with `n` arguments, which are
    /// values from `base` on; results are stored from `base - 16` on. `None` if it has no stub.
    pub fn function(&mut self, name: &str) -> Result<Option<FunctionId>> {
        // Of two names for the same there is one stub.
        let name = match name {
            _ if name == ANSWER_PARTS[2] => FIX_CHECKSUMS,
            globals::ROUTE => ROUTE,
            name => name,
        };
        let title = name.replace(['.', ' '], "_");
        let row = match name {
            PRINT => return self.make(&title, with_context(2), super::records::print).map(Some),
            EVENT => return self.make(&title, with_context(2), event).map(Some),
            TEXT => return self.make(&title, with_context(2), text).map(Some),
            name => own_row(name),
        };
        let Some(row) = row else { return Ok(None) };
        let body = |context: &mut Context<'_>, parameters: &[Word]| {
            set_arguments(context, parameters);
            let Some((owner, known)) = owners(row.name) else {
                return match ABOUT_PACKETS.contains(&row.name) {
                    true => context.on_frame(&mut |context| {
                        context.state.facts.packet.written = true;
                        run(context, row, vec![])
                    }),
                    false => run(context, row, vec![]),
                };
            };
            context.on_frame(&mut |context| {
                // What the script saw of the packet may no longer hold.
                context.state.facts.packet.written = true;
                for (state, object) in context.split_object(known.clone().into_iter(), owner)? {
                    context.state = state;
                    run(context, row, vec![Abs::Object(object)])?;
                }
                Ok(())
            })
        };
        self.make(&title, with_context(2), body).map(Some)
    }
}

/// Functions that look at the packet, and are no methods of it.
const ABOUT_PACKETS: [&str; 3] = [bpf::CALL.name, eclat::CALL.name, eclat::LOAD.name];

/// What errors call the objects that have a method, and these.
fn owners(method: &str) -> Option<(&'static str, Vec<(i64, Object)>)> {
    let of_objects = method != HANDLED && OF_OBJECTS.iter().any(|function| function.name == method);
    let of_copies = [copies::MAKE, copies::DEVICE].contains(&method);
    let of_packets = ENCAP_PARTS.contains(&method) || ANSWER_PARTS.contains(&method);
    let owner = match of_packets || of_objects || of_copies {
        true => DATA.name,
        false if RECORD_PARTS.contains(&method) => HEADER,
        false => find_library(method, &[&DATA, &HTTP])?,
    };
    let all = objects().filter(|(_, object)| match object {
        Object::Header(name) => *name == owner,
        _ => owner == DATA.name,
    });
    Some((owner, all.collect()))
}

fn find_library(method: &str, libraries: &[&'static Library]) -> Option<&'static str> {
    let has = |library: &&&'static Library| library.functions.iter().any(|known| known.name == method);
    libraries.iter().find(has).map(|library| library.name)
}

fn set_arguments(context: &mut Context<'_>, parameters: &[Word]) {
    if let (Some(stub), &[Word::Value(base), Word::Value(count)]) = (&mut context.stub, parameters) {
        stub.arguments = Some([base, count]);
    }
}

/// Makes the call in the current state, which ends. Arguments that are not given here are in memory.
fn run(context: &mut Context<'_>, row: &builtins::call::Row, args: Vec<Abs>) -> Result<()> {
    let call = Call { name: row.name, args, called: None, narrowed: true };
    for arm in (row.emit)(context, &call)? {
        context.state = arm.state;
        if context.state.alive() {
            context.leave_with(&arm.values)?;
        }
    }
    Ok(())
}

fn event(context: &mut Context<'_>, parameters: &[Word]) -> Result<()> {
    set_arguments(context, parameters);
    super::records::event(context, parameters)
}

fn text(context: &mut Context<'_>, parameters: &[Word]) -> Result<()> {
    set_arguments(context, parameters);
    if let (true, [base, ..]) = (context.target.hook.is_trace(), parameters) {
        let tag = arena::load(context, *base);
        return refuse_text(context, tag);
    }
    context.on_frame(&mut |context| {
        for (state, object) in context.split_object(context.objects().into_iter(), "data")? {
            context.state = state;
            let text = match &object {
                Object::Header(name) => {
                    Str::Const(format!("header: {}", inner::plain_name(name)).into_bytes().into())
                }
                object => object_text(context, object)?,
            };
            context.leave_with(&[Abs::Str(text)])?;
        }
        Ok(())
    })
}
