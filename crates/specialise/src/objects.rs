//! The packet, its headers and the handler's second argument as a script sees them: objects with fields and methods.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::field_values::arms;
use crate::knowledge::Knowledge;
use crate::paths::Arm;
use crate::shared::seen::Seen;
use crate::structures::Structures;
use crate::value::{Abs, Object};
use crate::{Options, builtins, meta_fields, trace, traced_kinds};
use moonhook_library::methods_of;
use moonhook_packet::protocols::{self, Protocol, inner, member, protocol, protocols, texts};
use moonhook_snapshot::Snapshot;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What the fields of that name are of packets, headers, events and structures, whichever it is.
pub fn kinds_of(snapshot: &Snapshot, options: &Options, structures: &Structures, name: &str) -> Seen {
    let mut seen = traced_kinds::kinds(snapshot, structures, name);
    if member::<Context<'static>>(name).is_some_and(|known| known.fields.is_empty() && !known.is_text) {
        seen.add(&Seen::of_field(&Abs::int(0)));
    }
    for protocol in protocols::<Context<'static>>().iter().filter(|protocol| protocol.field(name).is_some()) {
        let mut context = Context::new(snapshot, options, Knowledge::default());
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
        Object::Header(name) => inner::plain_name(name),
        Object::Packet => "packet",
        _ => "data",
    }
}

/// What protocols are called, and their fields: rows are made anew each time that they are asked for.
struct Names {
    protocols: Vec<&'static str>,
    headers: Vec<&'static str>,
    /// By protocol, those inside of packets among them.
    fields: FxHashMap<&'static str, Vec<&'static str>>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let protocols = protocols::<Context<'static>>();
    let inside = inner::protocols::<Context<'static>>();
    let fields = |protocol: &Protocol<Context<'static>>| {
        (protocol.name, protocol.fields.iter().map(|field| field.name).collect())
    };
    Names {
        protocols: protocols.iter().map(|protocol| protocol.name).collect(),
        headers: protocols::headers::<Context<'static>>().map(|protocol| protocol.name).collect(),
        fields: protocols.iter().chain(&inside).map(fields).collect(),
    }
});

/// Whether the object has a field or a method of that name.
pub fn has_field(object: &Object, name: &[u8]) -> bool {
    let is = |known: &&str| known.as_bytes() == name;
    let is_field = match object {
        Object::Header(header) => NAMES.fields.get(header).is_some_and(|fields| fields.iter().any(is)),
        Object::Packet => NAMES.protocols.iter().any(is),
        _ => false,
    };
    is_field || method(object, name).is_some()
}

/// The canonical name of the object's method of that name.
fn method(object: &Object, name: &[u8]) -> Option<&'static str> {
    let library = match object {
        Object::Header(header) => methods_of(header)?,
        _ => methods_of("data")?,
    };
    builtins::find(library, name)
}

/// `object.field`: one arm for each way of getting it.
pub fn field(context: &mut Context<'_>, object: &Object, name: &[u8]) -> Result<Vec<Arm>> {
    let text = String::from_utf8_lossy(name).into_owned();
    if *object == Object::Packet && context.target.hook.is_trace() {
        return trace::event_field(context, &text);
    }
    if let Some(method) = method(object, name) {
        return context.only(Abs::Object(Object::Builtin(method)));
    }
    if *object == meta_fields::OBJECT {
        return meta_fields::field(context, name);
    }
    match object {
        Object::Header(header) => {
            let Some(protocol) = protocol(header) else { return Ok(vec![]) };
            match protocol.field(&text) {
                Some(field) => {
                    let paths = protocol.read(context, field)?;
                    arms(context, paths)
                }
                None => no_field(context, object, text),
            }
        }
        object => match member(&text) {
            Some(protocol) if *object == Object::Packet => {
                let paths = (protocol.find)(context)?;
                arms(context, paths)
            }
            _ => no_field(context, object, text),
        },
    }
}

/// The names of all headers that are objects.
pub fn headers() -> impl Iterator<Item = &'static str> {
    NAMES.headers.iter().copied()
}

/// The names of all fields, of packets and of headers, that are strings of any content.
pub fn text_fields() -> Vec<&'static str> {
    texts::<Context<'static>>()
}

/// The names of all protocols, and of all fields of headers.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    let names = protocols::<Context<'static>>().into_iter().map(|protocol| protocol.name);
    names.chain(
        protocols::<Context<'static>>()
            .into_iter()
            .flat_map(|protocol| protocol.fields)
            .map(|field| field.name),
    )
}

/// The fields that an object has, to be listed in a message.
pub fn known_fields(object: &Object) -> String {
    match object {
        Object::Header(header) => {
            let fields = protocol::<Context<'static>>(header).map(|protocol| protocol.fields);
            list(fields.iter().flatten().map(|field| field.name))
        }
        Object::Packet => list(protocols::<Context<'static>>().iter().map(|protocol| protocol.name)),
        _ => "the methods of data objects".to_string(),
    }
}

fn no_field(context: &mut Context<'_>, object: &Object, field: String) -> Result<Vec<Arm>> {
    let (name, help) = (field.clone(), format!("its fields are {}", known_fields(object)));
    context.missing_field(LowerErrorKind::NoSuchField { header: owner(object).into(), field, help }, &name);
    Ok(vec![])
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_library::own::data::MEMBERS;
    use std::collections::BTreeSet;

    #[test]
    fn objects_of_packets_know_what_packets_have() {
        let known: BTreeSet<&str> = MEMBERS.into_iter().collect();
        assert_eq!(known, NAMES.protocols.iter().copied().collect());
    }
}
