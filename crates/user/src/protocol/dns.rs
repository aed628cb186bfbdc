//! DNS over UDP: the header and the first question of a message (RFC 1035 § 4.1; RFC 6762 § 18 for multicast DNS).

use std::ops::Range;

use super::bytes::{u8_at, u16_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{payload, udp};

const HEADER: usize = 12;
const PORTS: [u16; 2] = [53, 5353];
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: u8 = 63;

pub const PROTOCOL: Protocol = Protocol {
    name: "dns",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "id", read: |frame| Value::integer(word(frame, 0)?) },
            Field { name: "flags", read: |frame| Value::integer(word(frame, 2)?) },
            Field { name: "qr", read: |frame| Value::boolean(word(frame, 2)? & 0x8000 != 0) },
            Field { name: "opcode", read: |frame| Value::integer(word(frame, 2)? >> 11 & 15) },
            Field { name: "aa", read: |frame| Value::boolean(word(frame, 2)? & 0x0400 != 0) },
            Field { name: "tc", read: |frame| Value::boolean(word(frame, 2)? & 0x0200 != 0) },
            Field { name: "rd", read: |frame| Value::boolean(word(frame, 2)? & 0x0100 != 0) },
            Field { name: "ra", read: |frame| Value::boolean(word(frame, 2)? & 0x0080 != 0) },
            Field { name: "ad", read: |frame| Value::boolean(word(frame, 2)? & 0x0020 != 0) },
            Field { name: "cd", read: |frame| Value::boolean(word(frame, 2)? & 0x0010 != 0) },
            Field { name: "rcode", read: |frame| Value::integer(word(frame, 2)? & 15) },
            Field { name: "qdcount", read: |frame| Value::integer(word(frame, 4)?) },
            Field { name: "ancount", read: |frame| Value::integer(word(frame, 6)?) },
            Field { name: "nscount", read: |frame| Value::integer(word(frame, 8)?) },
            Field { name: "arcount", read: |frame| Value::integer(word(frame, 10)?) },
            Field { name: "qname", read: |frame| Value::name(name(frame)?) },
            Field { name: "qtype", read: |frame| Value::integer(behind_name(frame, 0)?) },
            Field { name: "qclass", read: |frame| Value::integer(behind_name(frame, 2)?) },
        ],
        assignments: &[],
    },
};

/// Where the message is in the frame.
pub fn find(frame: Frame<'_>) -> Option<Range<usize>> {
    let ports = udp::find(frame)?.ports()?;
    let message = payload::find(frame)?;
    (ports.iter().any(|port| PORTS.contains(port)) && message.len() >= HEADER).then_some(message)
}

fn word(frame: Frame<'_>, at: usize) -> Option<u16> {
    u16_at(frame.bytes.get(find(frame)?)?, at)
}

/// Where the name of the first question is in the frame, up to the length of 0 that ends it.
fn name(frame: Frame<'_>) -> Option<Range<usize>> {
    let range = find(frame)?;
    let message = frame.bytes.get(range.clone())?;
    if u16_at(message, 4)? == 0 {
        return None;
    }
    let mut at = HEADER;
    loop {
        let length = u8_at(message, at)?;
        if at - HEADER >= LONGEST_NAME || length > LONGEST_LABEL {
            return None;
        }
        if length == 0 {
            return Some(range.start + HEADER..range.start + at);
        }
        at += 1 + usize::from(length);
    }
}

fn behind_name(frame: Frame<'_>, at: usize) -> Option<u16> {
    let message = find(frame)?;
    u16_at(frame.bytes.get(name(frame)?.end + 1..message.end)?, at)
}
