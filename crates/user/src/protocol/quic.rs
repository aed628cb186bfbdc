//! QUIC packets with a long header (RFC 9000 § 17.2).

use std::ops::Range;

use super::bytes::{u8_at, u32_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{payload, udp};

const PORT: u16 = 443;

pub const PROTOCOL: Protocol = Protocol {
    name: "quic",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "version", read: |frame| Value::integer(find(frame)?.0) },
            Field { name: "dcid", read: |frame| Value::bytes(find(frame)?.1) },
        ],
        assignments: &[],
    },
};

/// The version, and where the destination connection id is in the frame.
fn find(frame: Frame<'_>) -> Option<(u32, Range<usize>)> {
    if !udp::find(frame)?.ports()?.contains(&PORT) {
        return None;
    }
    let range = payload::find(frame)?;
    let packet = frame.bytes.get(range.clone())?;
    let length = usize::from(u8_at(packet, 5)?);
    let id = range.start + 6..range.start + 6 + length;
    let is_long = packet.len() >= 7 && packet[0] >> 6 == 3;
    (is_long && length <= 20 && id.end <= range.end).then_some((u32_at(packet, 1)?, id))
}
