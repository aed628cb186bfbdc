//! The packet, its headers and the handler's second argument as a script sees them: objects with fields and methods.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::knowledge::Knowledge;
use crate::paths::Arm;
use crate::shared::seen::Seen;
use crate::value::{Abs, Object, Space, Str};
use crate::{Options, builtins};
use moonhook_ir::words::Branches;
use moonhook_library::own::DATA;
use moonhook_packet::protocols::{protocol, protocols, texts};
use moonhook_packet::{Value, ValuePaths};
use moonhook_snapshot::Snapshot;

/// What the fields of that name are of packets and headers, whichever it is.
pub fn kinds_of(snapshot: &Snapshot, options: &Options, name: &str) -> Seen {
    let mut seen = Seen::default();
    if protocol::<Context<'static>>(name).is_some_and(|known| known.fields.is_empty() && !known.is_text) {
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
        Object::Header(name) => name,
        Object::Packet => "packet",
        _ => "data",
    }
}

/// Whether the object has a field or a method of that name.
pub fn has_field(object: &Object, name: &[u8]) -> bool {
    let is = |known: &str| known.as_bytes() == name;
    match object {
        Object::Header(header) => {
            protocol::<Context<'static>>(header).is_some_and(|p| p.fields.iter().any(|field| is(field.name)))
        }
        Object::Packet if protocols::<Context<'static>>().iter().any(|protocol| is(protocol.name)) => true,
        _ => builtins::find(&DATA, name).is_some(),
    }
}

/// `object.field`: one arm for each way of getting it.
pub fn field(context: &mut Context<'_>, object: &Object, name: &[u8]) -> Result<Vec<Arm>> {
    let text = String::from_utf8_lossy(name).into_owned();
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
        object => {
            if let Some(method) = builtins::find(&DATA, name) {
                return context.only(Abs::Object(Object::Builtin(method)));
            }
            match protocol(&text) {
                Some(protocol) if *object == Object::Packet => {
                    let paths = (protocol.find)(context)?;
                    arms(context, paths)
                }
                _ => no_field(context, object, text),
            }
        }
    }
}

/// The paths on which a packet was read as arms with Lua's values.
fn arms<'a>(context: &mut Context<'a>, paths: ValuePaths<Context<'a>>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for path in paths {
        context.state = path.state;
        let value = value_of(context, path.values)?;
        arms.push(Arm { state: context.take_state(), values: vec![value] });
    }
    Ok(arms)
}

fn value_of(context: &mut Context<'_>, value: Value) -> Result<Abs> {
    Ok(match value {
        Value::Nothing => Abs::Nil,
        Value::Header(name) => Abs::Object(Object::Header(name)),
        Value::Number(word) => Abs::Int(word),
        Value::Flag(word) => Abs::Bool(word),
        Value::Ipv4(word) => Abs::Str(Str::Ipv4(word)),
        Value::Ipv6(high, low) => Abs::Str(Str::Ipv6(high, low)),
        Value::Mac(word) => Abs::Str(Str::Mac(word)),
        Value::Bytes { start, length } => Abs::Str(Str::Slice { space: Space::Packet, start, length }),
        Value::Name { start, length } => Abs::Str(context.name_text(start, length)?),
    })
}

/// The names of all headers that are objects.
pub fn headers() -> impl Iterator<Item = &'static str> {
    let protocols = protocols::<Context<'static>>().into_iter();
    protocols.filter(|protocol| !protocol.fields.is_empty()).map(|protocol| protocol.name)
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
    let (name, known) = (field.clone(), known_fields(object));
    context.missing_field(LowerErrorKind::NoSuchField { header: owner(object), field, known }, &name);
    Ok(vec![])
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
