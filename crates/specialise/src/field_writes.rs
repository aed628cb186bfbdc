//! Assigning fields of headers: `pkt.ip.ttl = 64`.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::members::nearby;
use crate::strings::Slice;
use crate::value::{Abs, Object, Space, Str};
use crate::{given, meta, objects};
use moonhook_hook::{HOOKS, Hook, Metadata};
use moonhook_ir::words::{Branches, PathState};
use moonhook_packet::protocols::{
    Assignment, Field, Protocol, fix_checksums_apart, member, protocol, protocols,
};
use moonhook_packet::{Takes, Value};

/// `object.key = value`.
pub fn assign(context: &mut Context<'_>, object: &Object, key: &Abs, value: &Abs) -> Result<()> {
    match (key, value) {
        (Abs::Union(_), _) => {
            context.dispatch(key, &mut |context, key| {
                assign(context, object, &key, value)?;
                Ok(vec![])
            })?;
            Ok(())
        }
        (Abs::Str(Str::Const(name)), Abs::Union(_)) => {
            context.dispatch(value, &mut |context, value| {
                assign_named(context, object, name, &value)?;
                Ok(vec![])
            })?;
            Ok(())
        }
        (Abs::Str(Str::Const(name)), _) => assign_named(context, object, name, value),
        _ => context.unsupported(
            "assigning a packet's field by a name that is not constant",
            "write the field's name after a dot",
            None,
        ),
    }
}

fn assign_named(context: &mut Context<'_>, object: &Object, name: &[u8], value: &Abs) -> Result<()> {
    let text = String::from_utf8_lossy(name).into_owned();
    if is_read_only(context, object) {
        let help = "packets can be changed at `xdp` and at `tc`";
        context.certain_error(READ_ONLY, Some(&text), help);
        return Ok(());
    }
    if *object == meta::OBJECT {
        return meta::assign_field(context, name, value);
    }
    let protocol = protocol_of(object, &text);
    let assignment = protocol.as_ref().and_then(|protocol| assignment(context, object, protocol, &text));
    if let (Some(protocol), Some(assignment)) = (&protocol, assignment) {
        if assignment.takes == Takes::Text {
            return assign_text(context, protocol, (assignment, &text), value);
        }
        if assignment.takes == Takes::Integer && meta::is_table(value) {
            return meta::assign(context, value);
        }
        return match given::given(context, assignment.takes, value)? {
            Some(given) => {
                if *object != Object::Packet {
                    context.before_packet_write()?;
                }
                write(context, protocol, (assignment, &text), given)
            }
            None => {
                let message = unfit(assignment.takes, &text);
                context.certain_error(message, Some(&text), "assign what the field can hold");
                Ok(())
            }
        };
    }
    let help = what_can_be(context, object, &text);
    context.certain_error(none_to_assign(object, &text), Some(&text), help);
    Ok(())
}

/// The protocol that the object is, or that is the packet's field of that name.
pub fn protocol_of<'a>(object: &Object, name: &str) -> Option<Protocol<Context<'a>>> {
    match object {
        Object::Header(header) => protocol(header),
        Object::Packet => member(name),
        _ => None,
    }
}

/// How the field of that name is assigned where the code runs, if it can be.
pub fn assignment<'p, 'a>(
    context: &Context<'_>,
    object: &Object,
    protocol: &'p Protocol<Context<'a>>,
    name: &str,
) -> Option<&'p Assignment<Context<'a>>> {
    match object {
        Object::Header(_) => protocol.field(name)?.assignment.as_ref(),
        _ => {
            let hook = context.target.hook;
            protocol.assignment.as_ref().filter(|assignment| match assignment.takes {
                Takes::Text => hook.lengths.is_some(),
                Takes::Integer => hook.context.note.is_some_and(|note| note.adjust.is_some()),
                _ => hook.metadata(name).is_some_and(Metadata::is_written),
            })
        }
    }
}

/// The error that the object has no field of that name that can be assigned.
pub fn none_to_assign(object: &Object, name: &str) -> String {
    format!("'{}' has no field '{name}'{THAT_CAN_BE}", objects::owner(object))
}

/// Whether the object is a header of a packet that can only be read where the code runs.
pub fn is_read_only(context: &Context<'_>, object: &Object) -> bool {
    let Object::Header(name) = object else { return false };
    let is_beside = protocol::<Context<'static>>(name).is_some_and(|protocol| protocol.is_beside);
    !is_beside && !context.target.hook.can_write()
}

/// What assigning a field is there.
pub const READ_ONLY: &str = "packets are read only at this hook";

/// Whether some header, or packets at some hook, have a field of that name that can be assigned.
pub fn is_assigned(name: &[u8]) -> bool {
    has_assigned(&Object::Packet, name)
        || protocols::<Context<'static>>().iter().flat_map(|protocol| &protocol.fields).any(is(name))
}

/// Whether the object has such a field.
pub fn has_assigned(object: &Object, name: &[u8]) -> bool {
    match object {
        Object::Header(header) => {
            protocol::<Context<'static>>(header).is_some_and(|protocol| protocol.fields.iter().any(is(name)))
        }
        Object::Packet => protocols::<Context<'static>>()
            .iter()
            .any(|protocol| protocol.assignment.is_some() && protocol.name.as_bytes() == name),
        _ => false,
    }
}

fn is(name: &[u8]) -> impl Fn(&Field<Context<'static>>) -> bool + '_ {
    move |field| field.assignment.is_some() && field.name.as_bytes() == name
}

/// What can be assigned where a field of that name cannot.
fn what_can_be(context: &Context<'_>, object: &Object, name: &str) -> String {
    let by_offset = "; bytes are written by offset, `pkt:setuint8(offset, value)`";
    let header = match object {
        Object::Header(header) => header,
        Object::Packet => return of_packet(context, name),
        _ => return "it has no fields that can be assigned".to_string(),
    };
    let fields = protocol::<Context<'static>>(header).map(|protocol| protocol.fields).unwrap_or_default();
    let known: Vec<&str> =
        fields.iter().filter(|field| field.assignment.is_some()).map(|field| field.name).collect();
    match known.as_slice() {
        [] => format!("no field of `{header}` can be{by_offset}"),
        known => match nearby(name, known, "of its fields, these can be assigned:") {
            meant if meant.ends_with('?') => meant,
            all => all + by_offset,
        },
    }
}

fn of_packet(context: &Context<'_>, name: &str) -> String {
    let all = protocols::<Context<'static>>();
    let is_here = |known: &&Protocol<Context<'static>>| {
        assignment(context, &Object::Packet, known, known.name).is_some()
    };
    let has = |hook: &&&Hook| hook.metadata(name).is_some_and(Metadata::is_written);
    let hooks: Vec<&str> = HOOKS.iter().filter(has).map(|hook| hook.name).collect();
    if !hooks.is_empty() {
        return format!("it can be assigned at `{}`", hooks.join("`, `"));
    }
    if all.iter().any(|known| known.name == name && known.assignment.is_some()) {
        return format!("it is assigned at other hooks, not at `{}`", context.target.hook.name);
    }
    match member::<Context<'static>>(name) {
        Some(protocol) if protocol.fields.iter().any(|field| field.assignment.is_some()) => {
            let tag = if name == "vlan" { "; `pkt:push_vlan(id)` adds a tag" } else { "" };
            format!("assign a field of it, where the packet has that header: `pkt.{name}.FIELD = …`{tag}")
        }
        _ => {
            let known: Vec<&str> = all.iter().filter(is_here).map(|known| known.name).collect();
            nearby(name, &known, "these can be assigned:")
        }
    }
}

/// The end of the error that an object has no field of that name that can be assigned.
pub const THAT_CAN_BE: &str = " that can be assigned";

/// Assigns the field, and goes on where that could be done.
pub fn write<'a>(
    context: &mut Context<'a>,
    protocol: &Protocol<Context<'a>>,
    (assignment, name): (&Assignment<Context<'a>>, &str),
    given: Value,
) -> Result<()> {
    let refused = protocol.assign(context, assignment, given)?;
    context.forget_keys();
    context.fail_in(refused.absent, |context| {
        context.fail(Message::new(format!("field '{name}' is not in this packet")));
        Ok(())
    })?;
    context.fail_in(refused.unfit, |context| {
        context.fail(Message::new(unfit(assignment.takes, name)));
        Ok(())
    })?;
    context.fail_in(refused.room, |context| {
        context.fail(Message::new(format!("no room for field '{name}' in front of the packet")));
        Ok(())
    })?;
    context.fail_length(refused.longer, true)?;
    context.fail_length(refused.shorter, false)
}

/// Assigns a field that is a string of any length.
fn assign_text<'a>(
    context: &mut Context<'a>,
    protocol: &Protocol<Context<'a>>,
    (assignment, name): (&Assignment<Context<'a>>, &str),
    value: &Abs,
) -> Result<()> {
    let Abs::Str(text) = value else {
        context.certain_error(unfit(assignment.takes, name), Some(name), "assign a string");
        return Ok(());
    };
    let text = match text {
        Str::Slice { space: Space::Packet, .. } | Str::Cased { .. } => context.copied(text.clone())?,
        text => text.clone(),
    };
    context.before_packet_write()?;
    write_text(context, protocol, (assignment, name), &text)
}

/// Assigns a field that is a string of any length; the string does not lie in the packet.
pub fn write_text<'a>(
    context: &mut Context<'a>,
    protocol: &Protocol<Context<'a>>,
    (assignment, name): (&Assignment<Context<'a>>, &str),
    text: &Str,
) -> Result<()> {
    let (space, start, length) = context.slice(text)?;
    write(context, protocol, (assignment, name), Value::Number(length))?;
    if !context.state.alive() {
        return Ok(());
    }
    let mut done = Vec::new();
    for path in (protocol.find)(context)? {
        context.state = path.state;
        if let Value::Bytes { start: to, .. } = path.values
            && context.state.alive()
        {
            context.write_packet(to, Slice::plain(space, start, length))?;
            context.packet_written();
            fix_checksums_apart(context)?;
        }
        done.push(context.take_state());
    }
    context.enter(done)?;
    context.forget_keys();
    Ok(())
}

/// The error that a value is none for a field.
pub fn unfit(takes: Takes, name: &str) -> String {
    let expected = match takes {
        Takes::Number(bits) => format!("integer of {bits} bits"),
        Takes::Integer => "integer or table of integers and booleans".to_string(),
        Takes::Flag => "boolean".to_string(),
        Takes::Mac => "MAC address".to_string(),
        Takes::Address => "address of the packet's IP version".to_string(),
        Takes::Ipv4 => "IPv4 address".to_string(),
        Takes::Text => "string".to_string(),
    };
    format!("bad value for field '{name}' ({expected} expected)")
}
