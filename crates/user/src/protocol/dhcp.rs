//! DHCP for IPv4 (RFC 2131 § 2; options: RFC 2132).

use super::bytes::{array_at, u8_at, u32_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{payload, udp};

const PORTS: [u16; 2] = [67, 68];
const COOKIE: u32 = 0x6382_5363;

/// Where the options start.
const OPTIONS: usize = 240;

pub const PROTOCOL: Protocol = Protocol {
    name: "dhcp",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "op", read: |frame| Value::integer(u8_at(find(frame)?, 0)?) },
            Field { name: "xid", read: |frame| Value::integer(u32_at(find(frame)?, 4)?) },
            Field { name: "ciaddr", read: |frame| Value::ipv4(array_at(find(frame)?, 12)?) },
            Field { name: "yiaddr", read: |frame| Value::ipv4(array_at(find(frame)?, 16)?) },
            Field { name: "siaddr", read: |frame| Value::ipv4(array_at(find(frame)?, 20)?) },
            Field { name: "giaddr", read: |frame| Value::ipv4(array_at(find(frame)?, 24)?) },
            Field { name: "client_mac", read: client_mac },
            Field { name: "message_type", read: |frame| Value::integer(message_type(find(frame)?)?) },
        ],
        assignments: &[],
    },
};

fn find(frame: Frame<'_>) -> Option<&[u8]> {
    let ports = udp::find(frame)?.ports()?;
    let message = frame.bytes.get(payload::find(frame)?)?;
    let is_dhcp = ports.iter().any(|port| PORTS.contains(port)) && message.len() >= OPTIONS;
    (is_dhcp && u32_at(message, OPTIONS - 4)? == COOKIE).then_some(message)
}

/// Of Ethernet: hardware type 1, six bytes.
fn client_mac(frame: Frame<'_>) -> Option<Value> {
    let message = find(frame)?;
    match message[1..3] {
        [1, 6] => Value::mac(array_at(message, 28)?),
        _ => None,
    }
}

fn message_type(message: &[u8]) -> Option<u8> {
    let mut options = &message[OPTIONS..];
    loop {
        options = match options {
            [0, rest @ ..] => rest,
            [53, length, rest @ ..] => return rest.first().copied().filter(|_| *length > 0),
            [255, ..] | [] | [_] => return None,
            [_, length, rest @ ..] => rest.get(usize::from(*length)..)?,
        };
    }
}
