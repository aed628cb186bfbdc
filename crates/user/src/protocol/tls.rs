//! TLS: the server name of a ClientHello (RFC 8446 § 4.1.2, RFC 6066 § 3) that starts in this segment.

use std::ops::Range;

use super::bytes::{u8_at, u16_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{payload, tcp};

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Record header, handshake header, version, random: what precedes the session id.
const BEFORE_SESSION_ID: usize = 5 + 4 + 2 + 32;

pub const PROTOCOL: Protocol = Protocol {
    name: "tls",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[Field { name: "sni", read: |frame| Value::bytes(sni(frame)?) }],
        assignments: &[],
    },
};

/// Where the ClientHello's record is in the frame.
fn find(frame: Frame<'_>) -> Option<Range<usize>> {
    tcp::find(frame)?;
    let range = payload::find(frame)?;
    let record = frame.bytes.get(range.clone())?;
    let is_hello = record.len() >= 6 && record[0] == HANDSHAKE && record[1] == 3 && record[5] == CLIENT_HELLO;
    is_hello.then_some(range)
}

/// Where the host name is in the frame.
fn sni(frame: Frame<'_>) -> Option<Range<usize>> {
    let range = find(frame)?;
    let name = host_name(frame.bytes.get(range.clone())?)?;
    Some(range.start + name.start..range.start + name.end)
}

/// Where the host name is in the record.
fn host_name(record: &[u8]) -> Option<Range<usize>> {
    let mut at = BEFORE_SESSION_ID;
    at += 1 + usize::from(u8_at(record, at)?);
    at += 2 + usize::from(u16_at(record, at)?);
    at += 1 + usize::from(u8_at(record, at)?);
    let end = at + 2 + usize::from(u16_at(record, at)?);
    at += 2;
    while at < end {
        let kind = u16_at(record, at)?;
        let length = usize::from(u16_at(record, at + 2)?);
        if kind == SERVER_NAME {
            return first_entry(record, at + 4);
        }
        at += 4 + length;
    }
    None
}

/// The name of the first entry of the server name list at `at`, if it is a host name, not empty, and whole.
fn first_entry(record: &[u8], at: usize) -> Option<Range<usize>> {
    let name = at + 2 + 1 + 2;
    let length = usize::from(u16_at(record, at + 3)?);
    let is_name = u16_at(record, at).is_some() && u8_at(record, at + 2)? == HOST_NAME && length > 0;
    (is_name && record.len() >= name + length).then_some(name..name + length)
}
