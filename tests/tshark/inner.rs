//! What is inside of packets.

use moonhook_user::protocol::{Frame, Protocol, inner};

use crate::compare::{number, text};
use crate::fields::{Row, Unit};
use crate::layers::Layers;
use crate::run::Shown;

/// What we show, as text.
pub fn ours(frame: &[u8], row: &Row) -> Option<String> {
    let (header, field) = row.path.strip_prefix("inner.")?.split_once('.')?;
    let inside = inner::find(Frame::of_link(frame))?;
    let (_, protocol) = Protocol::named(header.as_bytes())?;
    let value = (protocol.field(field.as_bytes())?.read)(inside)?;
    text(inside.bytes, value, row)
}

/// What tshark shows: a field's first value, or the second where the outer packet has one, too.
pub fn theirs(shown: &Shown, layers: &Layers, row: &Row) -> Option<String> {
    let inside = layers.inside()?;
    let (header, _) = row.path.strip_prefix("inner.")?.split_once('.')?;
    let is_second = match header {
        "eth" if inside.has_eth => layers.eth,
        "ip" if !inside.network.is_empty() => inside.network == layers.network,
        "tcp" | "udp" if inside.transport == header => layers.transport == header,
        _ => return None,
    };
    let is_v6 = inside.network == "ipv6";
    let value = shown.nth(if is_v6 { row.field_v6 } else { row.field }, usize::from(is_second))?;
    Some(match row.unit {
        Unit::Text => value.to_owned(),
        Unit::Boolean => (value == "1" || value == "True").to_string(),
        Unit::Length if is_v6 => (number(value)? + 40).to_string(),
        _ => number(value)?.to_string(),
    })
}
