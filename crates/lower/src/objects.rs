//! The packet, its headers and the handler's second argument as a script sees them: objects with fields and methods.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::knowledge::Knowledge;
use crate::protocols::header::{Field, Protocol};
use crate::protocols::{PROTOCOLS, protocol};
use crate::shared::seen::Seen;
use crate::value::{Abs, Object};
use crate::ways::Arm;
use crate::{Options, builtins};
use moonhook_snapshot::Snapshot;

/// What the headers' fields of that name are, whichever header it is.
pub fn kinds_of(snapshot: &Snapshot, options: &Options, name: &str) -> Seen {
    let fields =
        PROTOCOLS.iter().flat_map(|protocol| protocol.fields.iter().map(move |field| (protocol, field)));
    let mut seen = Seen::default();
    for (protocol, _) in fields.filter(|(_, field)| field.name == name) {
        let mut context = Context::new(snapshot, options, Knowledge::default(), "kinds");
        // A field that has no form alone tells nothing.
        let arms = field(&mut context, &Object::Header(protocol.name), name.as_bytes()).unwrap_or_default();
        for value in arms.iter().flat_map(|arm| arm.values.first()) {
            seen.add(&Seen::of_field(value));
        }
    }
    seen
}

/// What errors call the owner of a field.
pub fn owner(object: &Object) -> &'static str {
    match object {
        Object::Header(name) => name,
        Object::Packet => "packet",
        _ => "data",
    }
}

/// Whether the object has a field or a method of that name.
pub fn has_field(object: &Object, name: &[u8]) -> bool {
    let is = |known: &str| known.as_bytes() == name;
    match object {
        Object::Header(header) => protocol(header).is_some_and(|p| p.fields.iter().any(|f| is(f.name))),
        Object::Packet if PROTOCOLS.iter().any(|protocol| is(protocol.name)) => true,
        _ => builtins::find("data", name).is_some(),
    }
}

/// `object.field`: one arm for each way of getting it.
pub fn field(context: &mut Context<'_>, object: &Object, name: &[u8]) -> Result<Vec<Arm>> {
    let text = String::from_utf8_lossy(name).into_owned();
    match object {
        Object::Header(header) => {
            let Some(protocol) = protocol(header) else { return Ok(vec![]) };
            match protocol.fields.iter().find(|field| field.name == text) {
                Some(field) if context.state.facts.written => read_again(context, protocol, field),
                Some(field) => (field.read)(context),
                None => {
                    let known = list(protocol.fields.iter().map(|field| field.name));
                    no_field(context, protocol.name, text, known)
                }
            }
        }
        object => {
            if let Some(method) = builtins::find("data", name) {
                return context.only(Abs::Object(Object::Builtin(method)));
            }
            match protocol(&text) {
                Some(protocol) if *object == Object::Packet => (protocol.find)(context),
                _ if *object == Object::Packet => {
                    let known = list(PROTOCOLS.iter().map(|protocol| protocol.name));
                    no_field(context, "packet", text, known)
                }
                _ => no_field(context, "data", text, "the methods of data objects".to_string()),
            }
        }
    }
}

/// After a write the header may be gone: then its fields are nil.
fn read_again(context: &mut Context<'_>, protocol: &Protocol, field: &Field) -> Result<Vec<Arm>> {
    let mut result = Vec::new();
    for arm in (protocol.find)(context)? {
        if arm.values.first() == Some(&Abs::Nil) {
            result.push(arm);
        } else {
            context.state = arm.state;
            result.extend((field.read)(context)?);
        }
    }
    Ok(result)
}

fn no_field(
    context: &mut Context<'_>,
    header: &'static str,
    field: String,
    known: String,
) -> Result<Vec<Arm>> {
    let name = field.clone();
    context.missing_field(LowerErrorKind::NoSuchField { header, field, known }, &name);
    Ok(vec![])
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
